import { describe, expect, it } from 'vitest';
import { definitionFaults } from '../../../src/apiserver/apiextensions/definition-rules.ts';

type Schema = Readonly<Record<string, unknown>>;
type Rule = string | Readonly<Record<string, unknown>>;
const rulesOf = (rules: readonly Rule[]): Schema =>
  rules.length === 0
    ? {}
    : { 'x-kubernetes-validations': rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)) };
const S = (properties: Schema, rules: readonly Rule[] = [], more: Schema = {}): Schema => ({
  type: 'object',
  ...rulesOf(rules),
  properties,
  ...more,
});
const str: Schema = { type: 'string' };
const int: Schema = { type: 'integer' };
const bool: Schema = { type: 'boolean' };
const rooted = (spec: Schema): Schema => S({ spec });
const spec = (properties: Schema, ...rules: readonly Rule[]): Schema => rooted(S(properties, rules));

const definition = (schema: Schema): Schema => ({
  metadata: { name: 'foos.x.io' },
  spec: {
    conversion: { strategy: 'None' },
    group: 'x.io',
    scope: 'Namespaced',
    names: { plural: 'foos', singular: 'foo', kind: 'Foo', listKind: 'FooList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
  status: { storedVersions: ['v1'] },
});

/** Schemas with the faults of kube-apiserver 1.36; `SCHEMA` is the path of the root. */
const cases: readonly (readonly [schema: Schema, faults: readonly string[]])[] = [
  [
    spec({ a: int }, 'self.nope'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.nope","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field \'nope\'\n | self.nope\n | ....^',
    ],
  ],
  [
    spec({ a: int }, 'self.a'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool',
    ],
  ],
  [
    spec({ a: int }, 'self.a +'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a +","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:9: Syntax error: mismatched input \'<EOF>\' expecting {\'[\', \'{\', \'(\', \'.\', \'-\', \'!\', \'true\', \'false\', \'null\', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a +\n | ........^',
    ],
  ],
  [
    spec({ a: int }, "self.a == 'x'"),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a == \'x\'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:8: found no matching overload for \'_==_\' applied to \'(int, string)\'\n | self.a == \'x\'\n | .......^',
    ],
  ],
  [
    spec({ a: int }, ''),
    ['SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Required value: rule is not specified'],
  ],
  [
    spec({ a: int }, { rule: 'true', message: ' ' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].message: Invalid value: " ": must be non-empty if specified',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true\n', message: 'a\nb' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
    ],
  ],
  [
    spec({ a: int }, { rule: 'self.a == 1 ||\nself.a == 2' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', messageExpression: ' ' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].messageExpression: Required value: messageExpression must be non-empty if specified',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', messageExpression: 'self.a' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].messageExpression: Invalid value: {"Rule":"true","Message":"","MessageExpression":"self.a","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', messageExpression: 'self.b' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].messageExpression: Invalid value: {"Rule":"true","Message":"","MessageExpression":"self.b","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression compilation failed: ERROR: <input>:1:5: undefined field \'b\'\n | self.b\n | ....^',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', reason: 'Nope' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].reason: Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', fieldPath: 'a' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: "a": must be a valid path',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', fieldPath: '.b' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', fieldPath: '.a.b' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".a.b": must be a valid path',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', fieldPath: ' ' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: " ": must be non-empty if specified',
      'SCHEMA.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: " ": must be a valid path',
    ],
  ],
  [
    spec({ a: int }, { rule: 'true', fieldPath: '.a\n' }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".a\\n": must not contain line breaks',
      'SCHEMA.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".a\\n": must be a valid path',
    ],
  ],
  [spec({ a: int }, { rule: 'true', fieldPath: "['a']" }), []],
  [
    spec({ a: int }, { rule: 'true', optionalOldSelf: true }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule',
    ],
  ],
  [
    spec({
      l: {
        type: 'array',
        items: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
      },
    }),
    [
      'SCHEMA.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
      'SCHEMA.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within SCHEMA.properties[spec].properties[l]',
      'SCHEMA.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'SCHEMA: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    ],
  ],
  [
    spec({
      l: {
        type: 'array',
        maxItems: 3,
        items: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          properties: { b: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] } },
        },
      },
    }),
    [
      'SCHEMA.properties[spec].properties[l].items.properties[b].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within SCHEMA.properties[spec].properties[l]',
    ],
  ],
  [
    spec({ l: { type: 'array', items: str } }, 'self.l.all(x, self.l.all(y, x == y))'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'SCHEMA: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    ],
  ],
  [
    spec(
      { l: { type: 'array', maxItems: 100, items: { ...str, maxLength: 100 } } },
      'self.l.all(x, self.l.all(y, x == y))',
    ),
    [],
  ],
  [
    spec(
      { l: { type: 'array', maxItems: 1000, items: { ...str, maxLength: 100 } } },
      'self.l.all(x, self.l.all(y, x == y))',
    ),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 4.5x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    ],
  ],
  [
    spec({
      m: {
        type: 'object',
        additionalProperties: {
          type: 'string',
          'x-kubernetes-validations': [{ rule: "self.matches('^a+$')" }],
        },
      },
    }),
    [
      'SCHEMA.properties[spec].properties[m].additionalProperties.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
      'SCHEMA.properties[spec].properties[m].additionalProperties.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'SCHEMA: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    ],
  ],
  [
    spec({
      m: {
        type: 'object',
        maxProperties: 10,
        additionalProperties: {
          type: 'string',
          maxLength: 10,
          'x-kubernetes-validations': [{ rule: "self.matches('^a+$')" }],
        },
      },
    }),
    [],
  ],
  [spec({ a: str }, "self.a.matches('[a-z]+') && self.a.contains('x') && self.a.split(',').size() > 2"), []],
  [
    spec({ a: str }, "self.a.matches('(')"),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a.matches(\'(\')","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:16: invalid matches argument\n | self.a.matches(\'(\')\n | ...............^',
    ],
  ],
  [
    spec({ a: str }, "duration('zz') > duration('1s')"),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"duration(\'zz\') \\u003e duration(\'1s\')","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:10: invalid duration argument\n | duration(\'zz\') > duration(\'1s\')\n | .........^',
    ],
  ],
  [
    spec({ a: str }, '[1, "a"].size() == 2'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"[1, \\"a\\"].size() == 2","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: expected type \'int\' but found \'string\'\n | [1, "a"].size() == 2\n | ....^',
    ],
  ],
  [
    spec({ a: str }, 'self.a.foo()'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a.foo()","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:11: undeclared reference to \'foo\' (in container \'\')\n | self.a.foo()\n | ..........^',
    ],
  ],
  [
    spec({ a: str }, 'foo(self.a)'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"foo(self.a)","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:4: undeclared reference to \'foo\' (in container \'\')\n | foo(self.a)\n | ...^',
    ],
  ],
  [
    spec({ a: str }, 'self.all(x, true)'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.all(x, true)","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:1: expression of type \'selfType\' cannot be range of a comprehension (must be list, map, or dynamic)\n | self.all(x, true)\n | ^',
    ],
  ],
  [
    spec({ a: str }, 'self.a.all(x, true)'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a.all(x, true)","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: expression of type \'string\' cannot be range of a comprehension (must be list, map, or dynamic)\n | self.a.all(x, true)\n | ....^',
    ],
  ],
  [
    spec({ a: str }, 'has(self)'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"has(self)","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: invalid argument to has() macro\n | has(self)\n | ....^',
    ],
  ],
  [
    spec({ a: str }, 'self.a ? true : false'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a ? true : false","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:8: found no matching overload for \'_?_:_\' applied to \'(string, bool, bool)\'\n | self.a ? true : false\n | .......^',
    ],
  ],
  [
    spec({ a: str }, 'params.a == 1'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"params.a == 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:1: undeclared reference to \'params\' (in container \'\')\n | params.a == 1\n | ^',
    ],
  ],
  [
    spec({ a: str }, 'request.name == "a"'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"request.name == \\"a\\"","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:1: undeclared reference to \'request\' (in container \'\')\n | request.name == "a"\n | ^',
    ],
  ],
  [
    spec({ a: str }, 'self.a == oldSelf.a.value()'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a == oldSelf.a.value()","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:26: found no matching overload for \'value\' applied to \'string.()\'\n | self.a == oldSelf.a.value()\n | .........................^',
    ],
  ],
  [
    spec({ a: { 'x-kubernetes-preserve-unknown-fields': true } }, 'has(self.a)'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"has(self.a)","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:4: undefined field \'a\'\n | has(self.a)\n | ...^',
    ],
  ],
  [
    spec({ a: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }, 'self.a.b == 1'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a.b == 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:7: undefined field \'b\'\n | self.a.b == 1\n | ......^',
    ],
  ],
  [
    spec(
      { a: { type: 'array', items: { 'x-kubernetes-preserve-unknown-fields': true } } },
      'size(self.a) > 0',
    ),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"size(self.a) \\u003e 0","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:10: undefined field \'a\'\n | size(self.a) > 0\n | .........^',
    ],
  ],
  [
    S({
      spec: { 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-validations': [{ rule: 'true' }] },
    }),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
    ],
  ],
  [
    spec({ a: int, b: { type: 'array' } }, 'self.a > 1'),
    ['SCHEMA.properties[spec].properties[b].items: Required value: must be specified'],
  ],
  [
    spec({ 'a b': str }, "self.a == ''"),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a == \'\'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field \'a\'\n | self.a == \'\'\n | ....^',
    ],
  ],
  [spec({ a: { type: 'string', enum: ['aa', 'bbb'] } }, 'self.a.size() < 3 && self.a + self.a != ""'), []],
  [
    spec({
      l: {
        type: 'array',
        maxItems: 50,
        items: S(
          {
            x: {
              type: 'array',
              maxItems: 50,
              items: {
                type: 'string',
                maxLength: 20,
                'x-kubernetes-validations': [{ rule: "self.find('a+') == 'a'" }],
              },
            },
          },
          ["self.x.all(i, i.startsWith('a'))"],
        ),
      },
    }),
    [],
  ],
  [
    spec({
      l: { type: 'array', items: S({ x: str, y: int }, ['self.x.size() < self.y'], { required: ['x'] }) },
    }),
    [],
  ],
  [
    spec(
      { a: str },
      ...Array.from(
        { length: 12 },
        (_, i) => `self.a.matches('^(a|b)+${i}$') && self.a.matches('^(c|d)+${i}$')`,
      ),
    ),
    [],
  ],
  [spec({ a: { type: 'string', format: 'uuid' } }, 'self.a == string(1)'), []],
  [
    spec({ a: { type: 'string', maxLength: 1000 } }, "self.a.replace('a','bb').replace('b','cc').size() > 1"),
    [],
  ],
  [spec({ a: { type: 'integer', format: 'int32' } }, 'self.a > 1u'), []],
  [spec({ a: bool }, 'self.a'), []],
  [
    spec({ a: { type: 'object', additionalProperties: true } }, 'self.a == {}'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a == {}","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:8: found no matching overload for \'_==_\' applied to \'(selfType.a, map(dyn, dyn))\'\n | self.a == {}\n | .......^',
    ],
  ],
  [
    spec(
      { a: { type: 'object', maxProperties: 5, additionalProperties: int } },
      "self.a.exists(k, self.a[k] > 1) && self.a.map(k, k + 'x').size() > 0",
    ),
    [],
  ],
  [
    spec({ t: { type: 'string', format: 'date-time' } }, "self.t > timestamp('2020')"),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.t \\u003e timestamp(\'2020\')","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:20: invalid timestamp argument\n | self.t > timestamp(\'2020\')\n | ...................^',
    ],
  ],
  [spec({ a: str }, '1/0 == 1'), []],
  [
    spec({ a: str }, "int('x') == 1"),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"int(\'x\') == 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: program instantiation failed: type conversion error from \'string\' to \'int\'',
    ],
  ],
  [
    spec({ a: str }, "self.a.find('[') == ''"),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a.find(\'[\') == \'\'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: program instantiation failed: error parsing regexp: missing closing ]: `[`',
    ],
  ],
  [
    spec({ a: str }, "'a' in self"),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"\'a\' in self","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: found no matching overload for \'@in\' applied to \'(string, selfType)\'\n | \'a\' in self\n | ....^',
    ],
  ],
  [
    spec({ a: int }, 'self.a in [1, 2, 3] && self.a in ["a"]'),
    [
      'SCHEMA.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a in [1, 2, 3] \\u0026\\u0026 self.a in [\\"a\\"]","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:31: found no matching overload for \'@in\' applied to \'(int, list(string))\'\n | self.a in [1, 2, 3] && self.a in ["a"]\n | ..............................^',
    ],
  ],
];

describe('the rules of a definition', () => {
  it.each(cases)('%j', (schema, faults) => {
    const found = definitionFaults(definition(schema)).map(({ field, message }) => `${field}: ${message}`);
    expect(found.map((text) => text.replaceAll('spec.validation.openAPIV3Schema', 'SCHEMA'))).toEqual(faults);
  });
});

describe('a slice', () => {
  const faultsOf = (rule: string): readonly string[] =>
    definitionFaults(definition(spec({ i: int }, rule))).map(({ message }) => message);
  it('that ends before it begins costs more than any rule may', () => {
    expect(faultsOf('[1, 1, 2].slice(7, self.i).size() == 1').join(' ')).toContain('more than 100x');
  });
  it('of a short list is cheap', () => {
    expect(faultsOf('[1, 1, 2].slice(1, self.i).size() == 1')).toEqual([]);
  });
});
