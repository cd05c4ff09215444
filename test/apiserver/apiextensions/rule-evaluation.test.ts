import { describe, expect, it } from 'vitest';
import { evaluateRules } from '../../../src/apiserver/apiextensions/rule-evaluation.ts';

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
const rooted = (spec: Schema): Schema => S({ spec });
const spec = (properties: Schema, ...rules: readonly Rule[]): Schema => rooted(S(properties, rules));
const field = (schema: Schema, ...rules: readonly Rule[]): Schema =>
  rooted(S({ a: { ...schema, ...rulesOf(rules) } }));

/** A write: the spec, or the whole object, and what it replaces. */
interface Write {
  readonly spec?: readonly unknown[];
  readonly object?: readonly Schema[];
  readonly faults: readonly string[];
  readonly warnings?: readonly string[];
}

/** Schemas and objects with the faults of kube-apiserver 1.36. */
const cases: readonly { readonly schema: Schema; readonly objects: readonly Write[] }[] = [
  {
    schema: spec(
      { min: int, replicas: int, max: int },
      'self.min <= self.replicas && self.replicas <= self.max',
    ),
    objects: [
      { spec: [{ min: 1, replicas: 2, max: 3 }], faults: [] },
      {
        spec: [{ min: 1, replicas: 9, max: 3 }],
        faults: ['spec: Invalid value: failed rule: self.min <= self.replicas && self.replicas <= self.max'],
      },
      {
        spec: [{ min: 1 }],
        faults: [
          'spec: Invalid value: "object": no such key: replicas evaluating rule: self.min <= self.replicas && self.replicas <= self.max',
        ],
      },
    ],
  },
  {
    schema: spec(
      { h: { type: 'object', additionalProperties: str } },
      "'Available' in self.h",
      "self.h.all(k, self.h[k].startsWith('x'))",
    ),
    objects: [
      { spec: [{ h: { Available: 'x1' } }], faults: [] },
      {
        spec: [{ h: { b: 'y' } }],
        faults: [
          "spec: Invalid value: failed rule: 'Available' in self.h",
          "spec: Invalid value: failed rule: self.h.all(k, self.h[k].startsWith('x'))",
        ],
      },
      {
        spec: [{}],
        faults: [
          'spec: Invalid value: "object": no such key: h evaluating rule: \'Available\' in self.h',
          'spec: Invalid value: "object": no such key: h evaluating rule: self.h.all(k, self.h[k].startsWith(\'x\'))',
        ],
      },
    ],
  },
  {
    schema: spec(
      { set1: { type: 'array', items: str }, set2: { type: 'array', items: str } },
      'self.set1.all(e, !(e in self.set2))',
    ),
    objects: [
      { spec: [{ set1: ['a'], set2: ['b'] }], faults: [] },
      {
        spec: [{ set1: ['a'], set2: ['a'] }],
        faults: ['spec: Invalid value: failed rule: self.set1.all(e, !(e in self.set2))'],
      },
    ],
  },
  {
    schema: spec(
      { w: { type: 'array', maxItems: 10, items: S({ n: { ...str, maxLength: 5 } }) } },
      "self.w.filter(x, x.n == 'y').size() == 1",
    ),
    objects: [
      { spec: [{ w: [{ n: 'y' }] }], faults: [] },
      {
        spec: [{ w: [] }],
        faults: ["spec: Invalid value: failed rule: self.w.filter(x, x.n == 'y').size() == 1"],
      },
    ],
  },
  {
    schema: spec(
      {
        created: { type: 'string', format: 'date-time' },
        ttl: { type: 'string', format: 'duration' },
        d: { type: 'string', format: 'date' },
      },
      "self.created + self.ttl > timestamp('2022-01-01T00:00:00Z')",
      'has(self.d) ? self.d.getFullYear() == 2020 : true',
    ),
    objects: [
      { spec: [{ created: '2021-12-31T23:00:00Z', ttl: '2h' }], faults: [] },
      {
        spec: [{ created: '2021-12-31T20:00:00Z', ttl: '2h', d: '2019-01-02' }],
        faults: [
          "spec: Invalid value: failed rule: self.created + self.ttl > timestamp('2022-01-01T00:00:00Z')",
          'spec: Invalid value: failed rule: has(self.d) ? self.d.getFullYear() == 2020 : true',
        ],
      },
    ],
  },
  {
    schema: field(str, { rule: 'self == oldSelf', message: 'value is immutable' }),
    objects: [
      { spec: [{ a: 'x' }, { a: 'y' }], faults: ['spec.a: Invalid value: "x": value is immutable'] },
      { spec: [{ a: 'x' }, { a: 'x' }], faults: [] },
      { spec: [{ a: 'z' }], faults: [] },
    ],
  },
  {
    schema: spec(
      { a: int },
      { rule: 'self.a > 1', messageExpression: "'a is ' + string(self.a) + ' but must be more than 1'" },
    ),
    objects: [
      { spec: [{ a: 1 }], faults: ['spec: Invalid value: a is 1 but must be more than 1'] },
      { spec: [{ a: 2 }], faults: [] },
    ],
  },
  {
    schema: spec(
      { a: int },
      { rule: 'self.a > 1', messageExpression: "self.a == 1 ? '' : 'line\\nbreak'", message: 'fallback' },
    ),
    objects: [
      { spec: [{ a: 1 }], faults: ['spec: Invalid value: fallback'] },
      { spec: [{ a: 0 }], faults: ['spec: Invalid value: fallback'] },
    ],
  },
  {
    schema: spec(
      { a: int, m: { type: 'object', additionalProperties: int } },
      { rule: 'self.a > 1', reason: 'FieldValueForbidden', fieldPath: '.a', message: 'no' },
      { rule: "self.m['k'] > 1", reason: 'FieldValueRequired', fieldPath: ".m['k']" },
      { rule: 'self.a > 2', reason: 'FieldValueDuplicate' },
    ),
    objects: [
      {
        spec: [{ a: 1, m: { k: 0 } }],
        faults: [
          'spec.a: Forbidden: no',
          "spec.m[k]: Required value: failed rule: self.m['k'] > 1",
          'spec: Duplicate value',
        ],
      },
    ],
  },
  {
    schema: field(
      { 'x-kubernetes-int-or-string': true },
      "type(self) == int ? self < 5 : self.endsWith('%')",
      'self > 3',
    ),
    objects: [
      { spec: [{ a: 3 }], faults: ['spec.a: Invalid value: 3: failed rule: self > 3'] },
      {
        spec: [{ a: 7 }],
        faults: ["spec.a: Invalid value: 7: failed rule: type(self) == int ? self < 5 : self.endsWith('%')"],
      },
      {
        spec: [{ a: '5%' }],
        faults: [
          'spec.a: Invalid value: "": \'no such overload\': call arguments did not match a supported operator, function or macro signature for rule: self > 3',
        ],
      },
      {
        spec: [{ a: 'x' }],
        faults: [
          'spec.a: Invalid value: "x": failed rule: type(self) == int ? self < 5 : self.endsWith(\'%\')',
          'spec.a: Invalid value: "": \'no such overload\': call arguments did not match a supported operator, function or macro signature for rule: self > 3',
        ],
      },
    ],
  },
  {
    schema: field(str, {
      rule: "oldSelf.hasValue() ? self == oldSelf.value() : self != 'bad'",
      optionalOldSelf: true,
    }),
    objects: [
      {
        spec: [{ a: 'bad' }],
        faults: [
          'spec.a: Invalid value: "bad": failed rule: oldSelf.hasValue() ? self == oldSelf.value() : self != \'bad\'',
        ],
      },
      { spec: [{ a: 'ok' }], faults: [] },
      {
        spec: [{ a: 'x' }, { a: 'y' }],
        faults: [
          'spec.a: Invalid value: "x": failed rule: oldSelf.hasValue() ? self == oldSelf.value() : self != \'bad\'',
        ],
      },
    ],
  },
  {
    schema: spec(
      { 'a-b': str, 'c.d': str, 'e/f': str, for: str, x__y: str },
      "self.a__dash__b != '' && self.c__dot__d != '' && self.e__slash__f != '' && self.__for__ != '' && self.x__underscores__y != ''",
    ),
    objects: [
      { spec: [{ 'a-b': '1', 'c.d': '2', 'e/f': '3', for: '4', x__y: '5' }], faults: [] },
      {
        spec: [{ 'a-b': '', 'c.d': '2', 'e/f': '3', for: '4', x__y: '5' }],
        faults: [
          "spec: Invalid value: failed rule: self.a__dash__b != '' && self.c__dot__d != '' && self.e__slash__f != '' && self.__for__ != '' && self.x__underscores__y != ''",
        ],
      },
      {
        spec: [{}],
        faults: [
          "spec: Invalid value: \"object\": no such key: a__dash__b evaluating rule: self.a__dash__b != '' && self.c__dot__d != '' && self.e__slash__f != '' && self.__for__ != '' && self.x__underscores__y != ''",
        ],
      },
    ],
  },
  {
    schema: spec(
      { namespace: str, package: str },
      "!has(self.namespace) || self.namespace == 'a'",
      '!has(self.package) || self.package == self.__package__',
    ),
    objects: [
      { spec: [{ namespace: 'a', package: 'p' }, {}], faults: [] },
      {
        spec: [{ namespace: 'b' }],
        faults: ["spec: Invalid value: failed rule: !has(self.namespace) || self.namespace == 'a'"],
      },
    ],
  },
  {
    schema: spec(
      {
        l: { type: 'array', items: str, 'x-kubernetes-list-type': 'set', maxItems: 5 },
        m: { type: 'array', items: str, 'x-kubernetes-list-type': 'set', maxItems: 5 },
      },
      'self.l == self.m',
      '(self.l + self.m).size() == 3',
    ),
    objects: [
      {
        spec: [{ l: ['a', 'b'], m: ['b', 'a'] }],
        faults: ['spec: Invalid value: failed rule: (self.l + self.m).size() == 3'],
      },
      {
        spec: [{ l: ['a', 'b'], m: ['b', 'c'] }],
        faults: ['spec: Invalid value: failed rule: self.l == self.m'],
      },
    ],
  },
  {
    schema: spec({
      l: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        maxItems: 4,
        items: S({ k: str, v: int }, ['self.v >= oldSelf.v'], { required: ['k'] }),
      },
    }),
    objects: [
      {
        spec: [
          {
            l: [
              { k: 'a', v: 1 },
              { k: 'b', v: 5 },
            ],
          },
          {
            l: [
              { k: 'b', v: 6 },
              { k: 'a', v: 0 },
            ],
          },
        ],
        faults: ['spec.l[1]: Invalid value: failed rule: self.v >= oldSelf.v'],
      },
    ],
  },
  {
    schema: spec({ a: int, b: int }, { rule: 'self.a > 10', message: 'a' }),
    objects: [
      {
        spec: [
          { a: 1, b: 2 },
          { a: 1, b: 1 },
        ],
        faults: ['spec: Invalid value: a'],
      },
      {
        spec: [
          { a: 1, b: 1 },
          { a: 1, b: 1 },
        ],
        faults: [],
        warnings: ['spec: Invalid value: a'],
      },
    ],
  },
  {
    schema: rooted(
      S({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: "self.startsWith('x')" }] }, b: int }),
    ),
    objects: [
      {
        spec: [
          { a: 'y', b: 2 },
          { a: 'y', b: 1 },
        ],
        faults: [],
        warnings: ['spec.a: Invalid value: "y": failed rule: self.startsWith(\'x\')'],
      },
      {
        spec: [{ a: 'y' }, { a: 'z' }],
        faults: ['spec.a: Invalid value: "y": failed rule: self.startsWith(\'x\')'],
      },
    ],
  },
  {
    schema: S({ spec: S({ a: int }) }, [
      "self.metadata.name.startsWith('a')",
      "self.kind == 'Foo' && self.apiVersion == 'x.io/v1'",
    ]),
    objects: [
      {
        object: [{ kind: 'Foo', apiVersion: 'x.io/v1', metadata: { name: 'b' } }],
        faults: ["<nil>: Invalid value: failed rule: self.metadata.name.startsWith('a')"],
      },
      { object: [{ kind: 'Foo', apiVersion: 'x.io/v1', metadata: { name: 'ab' } }], faults: [] },
    ],
  },
  {
    schema: spec({
      e: {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
        'x-kubernetes-validations': [{ rule: "self.kind == 'Pod' && self.metadata.name != 'x'" }],
      },
    }),
    objects: [
      {
        spec: [{ e: { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'x' } } }],
        faults: ["spec.e: Invalid value: failed rule: self.kind == 'Pod' && self.metadata.name != 'x'"],
      },
      { spec: [{ e: { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'y' } } }], faults: [] },
    ],
  },
  {
    schema: spec({ a: { type: 'string', nullable: true } }, "!has(self.a) || self.a == 'x'"),
    objects: [
      { spec: [{ a: null }], faults: [] },
      { spec: [{ a: 'x' }], faults: [] },
      { spec: [{ a: 'y' }], faults: ["spec: Invalid value: failed rule: !has(self.a) || self.a == 'x'"] },
    ],
  },
  {
    schema: spec({ b: { type: 'string', format: 'byte', maxLength: 8 } }, "self.b == b'abc'"),
    objects: [
      { spec: [{ b: 'YWJj' }], faults: [] },
      { spec: [{ b: 'eHl6' }], faults: ["spec: Invalid value: failed rule: self.b == b'abc'"] },
    ],
  },
  {
    schema: spec({ n: { type: 'number' } }, 'self.n > 1.5', 'self.n == 2.0'),
    objects: [
      { spec: [{ n: 2 }], faults: [] },
      {
        spec: [{ n: 1 }],
        faults: [
          'spec: Invalid value: failed rule: self.n > 1.5',
          'spec: Invalid value: failed rule: self.n == 2.0',
        ],
      },
    ],
  },
  {
    schema: spec({ q: str }, "quantity(self.q).isLessThan(quantity('1Gi'))"),
    objects: [
      {
        spec: [{ q: '2Gi' }],
        faults: ["spec: Invalid value: failed rule: quantity(self.q).isLessThan(quantity('1Gi'))"],
      },
      { spec: [{ q: '1Mi' }], faults: [] },
      {
        spec: [{ q: 'z' }],
        faults: [
          "spec: Invalid value: \"object\": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' evaluating rule: quantity(self.q).isLessThan(quantity('1Gi'))",
        ],
      },
    ],
  },
  {
    schema: spec({ u: str }, "isURL(self.u) && url(self.u).getScheme() == 'https'"),
    objects: [
      { spec: [{ u: 'https://a' }], faults: [] },
      {
        spec: [{ u: 'http://a' }],
        faults: ["spec: Invalid value: failed rule: isURL(self.u) && url(self.u).getScheme() == 'https'"],
      },
      {
        spec: [{ u: 'zz' }],
        faults: ["spec: Invalid value: failed rule: isURL(self.u) && url(self.u).getScheme() == 'https'"],
      },
    ],
  },
  {
    schema: spec(
      { l: { type: 'array', items: int, maxItems: 100 } },
      'self.l.isSorted()',
      'self.l.sum() < 10',
    ),
    objects: [
      { spec: [{ l: [1, 2, 3] }], faults: [] },
      {
        spec: [{ l: [3, 2, 9] }],
        faults: [
          'spec: Invalid value: failed rule: self.l.isSorted()',
          'spec: Invalid value: failed rule: self.l.sum() < 10',
        ],
      },
    ],
  },
];

describe('the rules of a schema', () => {
  it.each(cases)('$schema', ({ schema, objects }) => {
    for (const { spec: specs, object, faults, warnings = [] } of objects) {
      const [value = {}, old] = object ?? (specs ?? []).map((one) => ({ spec: one }));
      const found = evaluateRules(value, schema, { old: old });
      expect(found.faults.map(({ field, message }) => `${field}: ${message}`)).toEqual(faults);
      expect(found.warnings).toEqual(warnings);
    }
  });

  it('end when they have cost all that one object may', () => {
    const list = { type: 'array', items: { type: 'integer' } };
    const schema = spec(
      { l: list },
      ...Array.from({ length: 12 }, () => 'self.l.all(x, self.l.all(y, x + y >= 0))'),
    );
    const { faults } = evaluateRules({ spec: { l: Array.from({ length: 360 }, (_, i) => i) } }, schema);
    expect(faults.map(({ message }) => message)).toEqual([
      'Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
    ]);
  });

  it('end with one that exceeds the limit of a single evaluation', () => {
    const schema = spec(
      { l: { type: 'array', items: int } },
      'self.l.all(x, self.l.all(y, x + y >= 0))',
      'false',
    );
    const { faults } = evaluateRules({ spec: { l: Array.from({ length: 600 }, (_, i) => i) } }, schema);
    expect(faults.map(({ message }) => message)).toEqual([
      'Invalid value: "object": \'operation cancelled: actual cost limit exceeded\': no further validation rules will be run due to call cost exceeds limit for rule: self.l.all(x, self.l.all(y, x + y >= 0))',
    ]);
  });
});
