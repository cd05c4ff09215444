import { describe, expect, it } from 'vitest';
import { typeText } from '../../../src/apiserver/cel/check/types.ts';
import { estimateCost } from '../../../src/apiserver/cel/cost/estimate.ts';
import { kubernetes, Program } from '../../../src/apiserver/cel/program.ts';
import { textOf } from '../../../src/apiserver/cel/values/text.ts';

/** Type and value, or the error; the cost of the evaluation; the least and most that is estimated. Compared with cel-go as kube-apiserver 1.36 sets it up. */
const evaluated: readonly (readonly [
  expression: string,
  outcome: string,
  cost: number,
  estimate: readonly [number, number],
])[] = [
  ['1 + 2 * 3', 'int 7', 2, [2, 2]],
  ['[1,2,3].map(x, x * 2)', 'list(int) [2, 4, 6]', 43, [63, 63]],
  ['[1,2,3].filter(x, x > 1)', 'list(int) [2, 3]', 33, [30, 66]],
  ['[1,2,3].all(x, x > 0)', 'bool true', 16, [20, 26]],
  ['[1,2,3].exists(x, x > 2)', 'bool true', 19, [23, 29]],
  ['[1,2,3].exists_one(x, x > 2)', 'bool true', 10, [21, 24]],
  ["{'a': 1, 'b': 2}.all(k, k in ['a','b'])", 'bool true', 9, [37, 63]],
  ['"abc".matches(\'^a.c$\')', 'bool true', 2, [2, 2]],
  ["'hello'.substring(1, 3)", 'string el', 1, [1, 1]],
  ["'a,b,c'.split(',')", 'list(string) ["a", "b", "c"]', 1, [1, 1]],
  ["['a','b'].join('-')", 'string a-b', 1, [11, 1844674407370955300]],
  [
    "'%s'.format([[1, 'a', {'k': 1.5}, duration('1s'), timestamp('2020-01-01T00:00:00Z')]])",
    'string [1, "a", {"k":1.500000}, duration("1s"), timestamp("2020-01-01T00:00:00Z")]',
    1,
    [53, 53],
  ],
  ["size('héllo')", 'int 5', 1, [1, 1]],
  ["'héllo'.charAt(1)", 'string é', 1, [1, 1]],
  ["dyn(1) == dyn('a')", 'bool false', 1, [3, 3]],
  ['1 < 2.5', 'bool true', 1, [1, 1]],
  ['[1, 2] + [3]', 'list(int) [1, 2, 3]', 1, [21, 21]],
  ['{1: 2}[1]', 'int 2', 2, [31, 31]],
  ['{1: 2}[2]', 'error: no such key: 2', 0, [31, 31]],
  ['[1,2][5]', 'error: index out of bounds: 5', 0, [11, 11]],
  ['[1,2][?5]', 'optional_type(int) optional.none()', 1, [11, 11]],
  ['[1,2][?1]', 'optional_type(int) optional(2)', 2, [11, 11]],
  ['[1,2][?1].orValue(7)', 'int 2', 2, [12, 12]],
  ['[1,2][?5].orValue(7)', 'int 7', 1, [12, 12]],
  ['optional.of(1).optMap(x, x + 1)', 'optional_type(int) optional(2)', 7, [3, 17]],
  ['optional.none().orValue(3)', 'int 3', 1, [2, 2]],
  ["optional.of({'a': 1}).?a", 'optional_type(int) optional(1)', 3, [32, 32]],
  ["{'a': {'b': 1}}.?a.?b", 'optional_type(int) optional(1)', 3, [62, 62]],
  ["{'a': {'b': 1}}.?a.b", 'optional_type(int) optional(1)', 3, [61, 61]],
  ["has({'a': 1}.a)", 'bool true', 1, [30, 30]],
  ["has({'a': 1}.b)", 'bool false', 1, [30, 30]],
  ['true || 1/0 > 1', 'bool true', 0, [0, 2]],
  ['1/0 > 1 || true', 'bool true', 2, [2, 2]],
  ['1/0 > 1 && false', 'bool false', 2, [2, 2]],
  ['1/0 > 1', 'error: division by zero', 2, [2, 2]],
  ['1 % 0', 'error: modulus by zero', 1, [1, 1]],
  ['9223372036854775807 + 1', 'error: integer overflow', 1, [1, 1]],
  ['-9223372036854775808 - 1', 'error: integer overflow', 1, [1, 1]],
  ['0u - 1u', 'error: unsigned integer overflow', 1, [1, 1]],
  ["int('12') + 1", 'int 13', 1, [2, 2]],
  ["double('1.5')", 'double 1.5', 0, [1, 1]],
  ['string(1.0)', 'string 1', 0, [1, 1]],
  ['string(1e100)', 'string 1e+100', 0, [1, 1]],
  ['string(0.000001)', 'string 1e-06', 0, [1, 1]],
  ['string(1u)', 'string 1', 0, [1, 1]],
  ["string(b'abc')", 'string abc', 0, [1, 1]],
  ["string(timestamp('2020-01-01T00:00:00.5Z'))", 'string 2020-01-01T00:00:00.5Z', 0, [2, 2]],
  ["string(duration('90m'))", 'string 5400s', 0, [2, 2]],
  ["bool('true')", 'bool true', 0, [1, 1]],
  ["duration('1h').getMinutes()", 'int 60', 1, [2, 2]],
  ["timestamp('2020-02-03T04:05:06.789Z').getMonth()", 'int 1', 1, [2, 2]],
  ["timestamp('2020-02-03T04:05:06.789Z').getDayOfYear()", 'int 33', 1, [2, 2]],
  ["timestamp('2020-02-03T04:05:06.789Z').getHours('America/New_York')", 'int 23', 1, [2, 2]],
  ["timestamp('2020-02-03T04:05:06.789Z').getHours('+05:30')", 'int 9', 1, [2, 2]],
  [
    "timestamp('2020-01-01T00:00:00Z') + duration('1h') > timestamp('2020-01-01T00:30:00Z')",
    'bool true',
    2,
    [5, 5],
  ],
  ['type(1) == int', 'bool true', 1, [3, 1844674407370955300]],
  ["type('a')", 'type(string) string', 0, [1, 1]],
  ['type([1]) == list', 'bool true', 1, [13, 1844674407370955300]],
  ['[3,1,2].sort()', 'list(int) [1, 2, 3]', 29, [39, 39]],
  ['[3,1,2].sortBy(x, -x)', 'list(int) [3, 2, 1]', 74, [104, 104]],
  ['[1,1,2].distinct()', 'list(int) [1, 2]', 29, [39, 39]],
  ['[[1],[2,3]].flatten()', 'list(int) [1, 2, 3]', 13, [43, 43]],
  ['[1,2,3].slice(0,2)', 'list(int) [1, 2]', 13, [23, 23]],
  ['[1,2,3].reverse()', 'list(int) [3, 2, 1]', 14, [24, 24]],
  ['lists.range(4)', 'list(int) [0, 1, 2, 3]', 15, [15, 15]],
  ['[1,2,3].first()', 'optional_type(int) optional(1)', 1, [11, 11]],
  ['[].last()', 'optional_type(dyn) optional.none()', 1, [11, 11]],
  ['[1,2,3].sum()', 'int 6', 3, [13, 13]],
  ['[1.5,2.5].sum()', 'double 4', 2, [12, 12]],
  ["['b','a'].max()", 'string b', 0, [12, 3689348814741910500]],
  ["['b','a'].min()", 'string a', 0, [12, 3689348814741910500]],
  ['[].sum()', 'int 0', 0, [10, 10]],
  ['[1,2,3].isSorted()', 'bool true', 3, [13, 13]],
  ['[1,2,3].indexOf(2)', 'int 1', 3, [13, 13]],
  ['[1,2,3].lastIndexOf(9)', 'int -1', 3, [13, 13]],
  ['sets.contains([1,2,3],[1])', 'bool true', 4, [24, 24]],
  ['sets.equivalent([1,2],[2,1])', 'bool true', 9, [29, 29]],
  ['sets.intersects([1],[2])', 'bool false', 2, [22, 22]],
  ["'abc 123'.find('[0-9]+')", 'string 123', 2, [2, 2]],
  ["'123 abc 456'.findAll('[0-9]+')", 'list(string) ["123", "456"]', 4, [4, 4]],
  ["'123 abc 456'.findAll('[0-9]+', 1)", 'list(string) ["123"]', 4, [4, 4]],
  ["url('https://example.com:80/a?b=c').getHost()", 'string example.com:80', 4, [4, 4]],
  ["url('https://example.com:80/a?b=c').getPort()", 'string 80', 4, [4, 4]],
  ["url('https://example.com:80/a?b=c').getQuery()", 'map(string, list(string)) {"b": ["c"]}', 4, [4, 4]],
  [
    "url('bad')",
    'error: URL parse error during conversion from string: parse "bad": invalid URI for request',
    1,
    [1, 1],
  ],
  ["isURL('https://x')", 'bool true', 1, [1, 1]],
  ["ip('10.0.0.1').family()", 'int 4', 2, [2, 2]],
  ["ip('::1').isLoopback()", 'bool true', 2, [2, 2]],
  [
    "ip('10.0.0.256')",
    'error: IP Address "10.0.0.256" parse error during conversion from string: ParseAddr("10.0.0.256"): IPv4 field has value >255',
    1,
    [1, 1],
  ],
  ["ip.isCanonical('2001:DB8::68')", 'bool false', 3, [3, 3]],
  ["isIP('x')", 'bool false', 1, [1, 1]],
  ["cidr('10.0.0.0/8').containsIP('10.1.2.3')", 'bool true', 3, [3, 6]],
  ["cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", 'bool true', 6, [6, 10]],
  [
    "cidr('10.0.0.0/33')",
    'error: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range',
    1,
    [2, 2],
  ],
  ["string(cidr('10.1.2.3/8').masked())", 'string 10.0.0.0/8', 3, [3, 3]],
  ["cidr('10.0.0.0/8').prefixLength()", 'int 8', 2, [2, 2]],
  ["string(ip('2001:db8:0:0:0:0:0:1'))", 'string 2001:db8::1', 3, [3, 3]],
  ["quantity('1Gi').isGreaterThan(quantity('1G'))", 'bool true', 3, [3, 3]],
  ["quantity('1.5').asApproximateFloat()", 'double 1.5', 2, [2, 2]],
  ["quantity('100k').asInteger()", 'int 100000', 2, [2, 2]],
  [
    "quantity('x')",
    "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    1,
    [1, 1],
  ],
  ["isQuantity('20Mi')", 'bool true', 1, [1, 1]],
  ["quantity('50k').add(quantity('20k')).compareTo(quantity('70k'))", 'int 0', 5, [5, 5]],
  ["quantity('50k').add(20).isInteger()", 'bool true', 3, [3, 3]],
  ["sign(quantity('-1'))", 'int -1', 2, [2, 2]],
  [
    "format.dns1123Label().validate('bad_name')",
    "optional_type(list(string)) optional([\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"])",
    9,
    [33, 33],
  ],
  [
    "format.named('uuid').value().validate('x')",
    'optional_type(list(string)) optional(["does not match the UUID format"])',
    20,
    [34, 34],
  ],
  ["!format.dns1123Label().validate('good').hasValue()", 'bool true', 11, [35, 35]],
  ["semver('1.2.3').major()", 'int 1', 2, [2, 2]],
  ["semver('1.2')", 'error: No Major.Minor.Patch elements found', 1, [1, 1]],
  ["isSemver('v1.0', true)", 'bool true', 1, [1, 1]],
  ["semver('v1.2', true).minor()", 'int 2', 2, [2, 2]],
  ["semver('1.2.3').isLessThan(semver('1.2.4-rc1'))", 'bool true', 3, [3, 3]],
  ['[1,2,3].all(i, v, i < v)', 'bool true', 19, [20, 29]],
  ['[1,2,3].transformList(i, v, i + v)', 'list(int) [1, 3, 5]', 46, [66, 66]],
  ["{'a': 1}.transformMap(k, v, v + 1)", 'map(string, int) {"a": 2}', 6, [66, 66]],
  ['[1,2].transformMapEntry(i, v, {v: i})', 'map(int, int) {1: 0, 2: 1}', 69, [109, 109]],
  ['[1,1].transformMapEntry(i, v, {v: i})', 'error: insert failed: key 1 already exists', 68, [109, 109]],
  ["'a' in ['a', 'b']", 'bool true', 0, [12, 12]],
  ['1 in {1: 2}', 'bool true', 1, [31, 31]],
  ["'x' in {'a': 1}", 'bool false', 1, [31, 31]],
  ["strings.quote('a\"b')", 'string "a\\"b"', 1, [1, 1]],
  ["'ABC'.lowerAscii() + 'abc'.upperAscii()", 'string abcABC', 3, [3, 3]],
  ["'  x '.trim()", 'string x', 1, [1, 1]],
  ["'abcabc'.replace('b', 'X', 1)", 'string aXcabc', 2, [2, 2]],
  ["'abcabc'.replace('', '-')", 'string -a-b-c-a-b-c-', 2, [2, 2]],
  ["'abc'.indexOf('c')", 'int 2', 0, [1, 1]],
  ["'abcabc'.lastIndexOf('b')", 'int 4', 0, [1, 1]],
  ["'tacocat'.substring(9)", 'error: index out of range: 9', 1, [1, 1]],
  ["b'abc' + b'def'", 'bytes abcdef', 1, [1, 1]],
  ["'a' < 'b'", 'bool true', 1, [1, 1]],
  ["b'a' < b'b'", 'bool true', 1, [1, 1]],
  ['null == null', 'bool true', 1, [1, 1]],
  ["'\\u00e9'", 'string é', 0, [0, 0]],
  ["r'\\d'", 'string \\d', 0, [0, 0]],
  ['[1, 2].map(x, x > 1, x)', 'list(int) [2]', 18, [27, 51]],
  ['[].map(x, x)', 'list(dyn) []', 1, [21, 21]],
  ["'a'.contains('a') && 'abc'.startsWith('ab') && 'abc'.endsWith('c')", 'bool true', 3, [1, 3]],
];

/** The first line of the faults, in cel-go's words. */
const refused: readonly (readonly [expression: string, fault: string])[] = [
  [
    "'%d'.format(['x'])",
    'ERROR: <input>:1:14: error during formatting: decimal clause can only be used on integers, was given string',
  ],
  ["'%s %s'.format(['x'])", 'ERROR: <input>:1:15: index 1 out of range'],
  [
    "'%z'.format(['x'])",
    'ERROR: <input>:1:12: could not parse formatting clause: unrecognized formatting clause "z"',
  ],
  ['1 == 1.0', "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, double)'"],
  ['1u == 1', "ERROR: <input>:1:4: found no matching overload for '_==_' applied to '(uint, int)'"],
  ["[1, 'a']", "ERROR: <input>:1:5: expected type 'int' but found 'string'"],
  ["{'a': 1, 'b': 'c'}", "ERROR: <input>:1:15: expected type 'int' but found 'string'"],
  ["int('x')", "type conversion error from 'string' to 'int'"],
  ["bool('yes')", "type conversion error from 'string' to 'bool'"],
  ["timestamp('bad')", 'ERROR: <input>:1:11: invalid timestamp argument'],
  ["duration('bad')", 'ERROR: <input>:1:10: invalid duration argument'],
  ["'a'.matches('(')", 'ERROR: <input>:1:13: invalid matches argument'],
  ["1 + 'a'", "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'"],
  ['foo', "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')"],
  ['foo(1)', "ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')"],
  ["'a'.foo()", "ERROR: <input>:1:8: undeclared reference to 'foo' (in container '')"],
  ['1.a', "ERROR: <input>:1:2: type 'int' does not support field selection"],
  ['x.all(y, y)', "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')"],
  ['[1].all(y, y)', "ERROR: <input>:1:12: expected type 'bool' but found 'int'"],
  [
    '(1).all(y, y)',
    "ERROR: <input>:1:2: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
  ],
  ['has(1)', 'ERROR: <input>:1:5: invalid argument to has() macro'],
  ['size(1)', "ERROR: <input>:1:5: found no matching overload for 'size' applied to '(int)'"],
  [
    "true ? 1 : 'a'",
    "ERROR: <input>:1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'",
  ],
  ['true && 1', "ERROR: <input>:1:9: expected type 'bool' but found 'int'"],
  ['!1', "ERROR: <input>:1:1: found no matching overload for '!_' applied to '(int)'"],
  ["-'a'", "ERROR: <input>:1:1: found no matching overload for '-_' applied to '(string)'"],
  ['[null, 1]', "ERROR: <input>:1:8: expected type 'null' but found 'int'"],
  ['"""a', "ERROR: <input>:1:3: Syntax error: token recognition error at: '\"a'"],
  ['b"""', "ERROR: <input>:1:4: Syntax error: token recognition error at: '\"'"],
  ['1.5 % 2.0', "ERROR: <input>:1:5: found no matching overload for '_%_' applied to '(double, double)'"],
  ['math.max(1,2)', "ERROR: <input>:1:1: undeclared reference to 'math' (in container '')"],
  ['cel.bind(x, 1, x)', "ERROR: <input>:1:1: undeclared reference to 'cel' (in container '')"],
  ['Object{a: 1}', "ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')"],
  ["'a'.?b", "ERROR: <input>:1:4: type 'string' does not support field selection"],
  [
    '1 +',
    "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  ['a b', "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>"],
  ['for', 'ERROR: <input>:1:1: reserved identifier: for'],
  ["authorizer.group('')", "ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')"],
];

describe('an expression', () => {
  it.each(evaluated)('%s is %s and costs %d', (expression, outcome, cost, [min, max]) => {
    const program = Program.compile(expression, kubernetes);
    const { value, error, cost: spent } = program.evaluate(() => undefined);
    expect(error === undefined ? `${typeText(program.type)} ${textOf(value)}` : `error: ${error}`).toBe(
      outcome,
    );
    expect(spent).toBe(cost);
    expect(estimateCost(program.checked)).toEqual({ min, max });
  });

  it.each(refused)('%s is refused', (expression, fault) => {
    expect(() => Program.compile(expression, kubernetes)).toThrow(fault);
  });

  it('ends when it costs more than it may, whatever would absorb an error', () => {
    const program = Program.compile(
      'lists.range(1000).all(i, lists.range(1000).exists(j, j == i)) || true',
      kubernetes,
    );
    expect(program.evaluate(() => undefined)).toMatchObject({
      error: 'operation cancelled: actual cost limit exceeded',
      isCostExceeded: true,
    });
  });

  it.each([
    'lists.range(9223372036854775807).size() > 0',
    'lists.range(900000).distinct().size() > 0',
    'sets.contains(lists.range(400000), lists.range(400000))',
    'lists.range(9000).map(x, "bbbbbbbb").join().replace("b", lists.range(9000).map(x, "bbbbbbbb").join()).size() > 0',
  ])('%s costs too much, and is not tried', (expression) => {
    const { error } = Program.compile(expression, kubernetes).evaluate(() => undefined);
    expect(error).toBe('operation cancelled: actual cost limit exceeded');
  });

  it('collects items and entries in linear time, and does not change what they are added to', () => {
    const outcome = (expression: string): unknown =>
      Program.compile(expression, kubernetes).evaluate(() => undefined).value;
    expect(outcome('lists.range(60000).map(x, x).size()')).toBe(60_000n);
    expect(outcome('lists.range(60000).transformMap(i, x, x).size()')).toBe(60_000n);
    expect(
      outcome(
        '[[1].map(x, x)].map(l, [l + [2], l + [3], l + lists.range(40), l])[0] == [[1, 2], [1, 3], [1] + lists.range(40), [1]]',
      ),
    ).toBe(true);
    const twice = Program.compile("{'a': 1}.transformMap(k, v, v)", kubernetes);
    for (let i = 0; i < 2; i++)
      expect(textOf(twice.evaluate(() => undefined).value ?? null)).toBe('{"a": 1}');
  });
});
