import { expect, test } from 'vitest';
import { parseDocument } from '../../../src/go/yaml/document.ts';

const faultOf = (text: string): string => {
  const parsed = parseDocument(text);
  return parsed.ok ? 'none' : parsed.fault.message;
};

test.for([
  ['{', 'unexpected end of JSON input'],
  ['{"a": "b', 'unexpected end of JSON input'],
  ['{"a": "b\n"}', "invalid character '\\n' in string literal"],
  ['{"a" "b"}', `invalid character '"' after object key`],
  ['{"a": 1 "b": 2}', `invalid character '"' after object key:value pair`],
  ['{"a": [1 2]}', "invalid character '2' after array element"],
  ['{"a": 1,}', "invalid character '}' looking for beginning of object key string"],
  ['{"a": }', "invalid character '}' looking for beginning of value"],
  ['{"a": 1} b', "invalid character 'b' after top-level value"],
  ["{'a': 1}", "invalid character '\\'' looking for beginning of object key string"],
  ['{"a": tru}', "invalid character '}' in literal true (expecting 'e')"],
  ['{"a": nul', "invalid character ' ' in literal null (expecting 'l')"],
  ['{"a": 01}', "invalid character '1' after object key:value pair"],
  ['{"a": 1.}', "invalid character '}' after decimal point in numeric literal"],
  ['{"a": -}', "invalid character '}' in numeric literal"],
  ['{"a": 1e}', "invalid character '}' in exponent of numeric literal"],
  ['{"a": "\\x"}', "invalid character 'x' in string escape code"],
  ['{"a": "\\u12g4"}', "invalid character 'g' in \\u hexadecimal character escape"],
  ['{é: 1}', "invalid character 'Ã' looking for beginning of object key string"],
  ['{\u0001}', "invalid character '\\x01' looking for beginning of object key string"],
] as const)('the JSON %j is at fault as Go says it', ([text, message]) => {
  expect(faultOf(text)).toBe(`couldn't get version/kind; json parse error: ${message}`);
});

test.for([
  ['a: 1\nb: "x\n', 'yaml: line 3: found unexpected end of stream'],
  ['a: *b\n', "yaml: unknown anchor 'b' referenced"],
  ['a: 1\nb', "yaml: line 3: could not find expected ':'"],
  ['a: 1\nb c\nd: 2\n', "yaml: line 3: could not find expected ':'"],
  ['a: 1\nb: {c: \n', 'yaml: line 2: did not find expected node content'],
  ['a:\n  b: "c" d: 1\n', 'yaml: line 1: did not find expected key'],
  ['a:\n  b: c: 1\n', 'yaml: line 2: mapping values are not allowed in this context'],
  ['a:\n- b: 1\n c: 1\n', 'yaml: line 2: did not find expected key'],
  ['a:\n  - b\n   c: 1\n', 'yaml: line 3: mapping values are not allowed in this context'],
  ['a:\n  b: - c\n', 'yaml: line 2: block sequence entries are not allowed in this context'],
  ['a: {{ .x }}\n', 'yaml: invalid map key: map[interface {}]interface {}{".x":interface {}(nil)}'],
  ['a: 1\n? [b, 2]\n: c\n', 'yaml: invalid map key: []interface {}{"b", 2}'],
  [
    'a: &k {b: {c: 1.5}, a: true}\nd: [{ *k : e }]\n',
    'yaml: invalid map key: map[interface {}]interface {}{"a":true, "b":map[interface {}]interface {}{"c":1.5}}',
  ],
  ['a: [{~: b}]\n', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "b"'],
  ['a: 1\nnull:\n', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>'],
  ['a: {{{b: c}}}\n', 'yaml: invalid map key: map[interface {}]interface {}{"b":"c"}'],
  ['a b\nc: 2\n', 'yaml: line 2: mapping values are not allowed in this context'],
] as const)('the YAML %j is at fault as the kubelet says it', ([text, message]) => {
  expect(faultOf(text)).toBe(message);
});

test.for([
  ['command: [\n"sleep",\n "5"\n]\n', { command: ['sleep', '5'] }],
  ['a:\n  b: {\n    c: d\n}\n  e: [\n]\n', { a: { b: { c: 'd' }, e: [] } }],
  ['a:\n  - {b: [{c:\n d}]}\n', { a: [{ b: [{ c: 'd' }] }] }],
  ['a:\n  b: "one\ntwo"\n  c: \'three\n four\'\n', { a: { b: 'one two', c: 'three four' } }],
  ['a:\n  b: {c: "d"\n#e\n}\n', { a: { b: { c: 'd' } } }],
] as const)('within brackets and quotes indentation does not matter: %j', ([text, value]) => {
  expect(parseDocument(text)).toMatchObject({ ok: true, document: { value } });
});

test.for(['a: [\n---\n]\n', 'a:\n  b: {c: d\ne: f\n', 'a: "b\n---\nc"\n', 'a: {b: c} #\n d\n'])(
  'what is not closed, or goes on behind it, is refused: %j',
  (text) => {
    expect(parseDocument(text)).toMatchObject({ ok: false });
  },
);

test('the body of a YAML text has its keys in the order of their text', () => {
  const parsed = parseDocument('b: [{d: <, c: null}]\n10: x\n2: z\n');
  expect(parsed.ok && parsed.document.body).toBe('{"10":"x","2":"z","b":[{"c":null,"d":"\\u003c"}]}');
});

const bodyOf = (text: string): string => {
  const parsed = parseDocument(text);
  return parsed.ok ? parsed.document.body : parsed.fault.message;
};

test.for([
  ['e1', '"e1"'],
  ['.', '"."'],
  ['.e1', '".e1"'],
  ['1e400', '"1e400"'],
  ['_1', '"_1"'],
  ['1:30', '"1:30"'],
  ['0o17', '15'],
  ['0X1f', '31'],
  ['-0B11', '-3'],
  ['017', '15'],
  ['09', '9'],
  ['1_000', '1000'],
  ['.5', '0.5'],
  ['+1.5e3', '1500'],
  ['!!float 1', '1'],
] as const)('the plain text %s is %s, as to the kubelet', ([text, value]) => {
  expect(bodyOf(`a: ${text}`)).toBe(`{"a":${value}}`);
});

test.for([
  ['a: .inf', 'json: unsupported value: +Inf'],
  ['b: {c: -.Inf}', 'json: unsupported value: -Inf'],
  ['- .nan', 'json: unsupported value: NaN'],
  ['a: "\u0007"', 'yaml: control characters are not allowed'],
  ['a: b # \u007f', 'yaml: control characters are not allowed'],
  ['<<: x', 'yaml: map merge requires map or sequence of maps as the value'],
  ['a: &a [*a]', "yaml: anchor 'a' value contains itself"],
  ['a: &', 'yaml: did not find expected alphabetic or numeric character'],
  ['a: |b\n', 'yaml: did not find expected comment or line break'],
  ['a: }', 'yaml: did not find expected node content'],
  ['a: *x\n  - b', "yaml: unknown anchor 'x' referenced"],
  ['a: 1\n"b:\n  c: d\n', 'yaml: line 4: found unexpected end of stream'],
] as const)('%j is refused: %s', ([text, message]) => {
  expect(faultOf(text)).toBe(message);
});

test.for([
  ['a:\n  b:\n c: d', 'line 2: did not find expected key'],
  ['a: 1\nb:\n  c:\n\n- d: e\n', 'line 4: did not find expected key'],
  ['a: b\n- c', 'line 1: did not find expected key'],
  ['- a\nb: c', "line 1: did not find expected '-' indicator"],
  ['a:\n  - b: c\n    d: e\n  f: g\n', "line 3: did not find expected '-' indicator"],
  ['a:\n- b\n- c: d\n  e: f\n g: h\n', 'line 4: did not find expected key'],
] as const)(
  'what is indented in a wrong way is told with the line before what comes: %j',
  ([text, message]) => {
    expect(faultOf(text)).toBe(`yaml: ${message}`);
  },
);

test('an unrendered template line is reported with what follows it', () => {
  expect(faultOf('a: b\n{{- if .x }}\nc: d\n{{- end }}\n')).toBe("yaml: line 3: could not find expected ':'");
});

test.for([
  ['a: b\n\tc: d', 'line 2: found a tab character that violates indentation'],
  ['- b\n\t- c', 'line 2: found a tab character that violates indentation'],
  ['a: b\n\t# c', 'line 2: found a tab character that violates indentation'],
  ['a:\n\tb: c', 'line 2: found character that cannot start any token'],
  ["a: 'b'\n\tc: d", 'line 2: found character that cannot start any token'],
  ['a: b # c\n\td: e', 'line 2: found character that cannot start any token'],
  ['a:\n\t\n  b: c', 'line 2: found character that cannot start any token'],
] as const)('a tab at the begin of a line: %j', ([text, message]) => {
  expect(faultOf(text)).toBe(`yaml: ${message}`);
});

test.for([
  ['a: 1\n<<: {a: 2}', '{"a":2}'],
  ['<<: {a: 2}\na: 1', '{"a":1}'],
  ['<<: {a: 1}\n<<: {a: 2}', '{"a":2}'],
  [
    'x: &x {<<: {a: 2}, b: 3}\nz: {a: 1, b: 1, <<: [*x, {b: 4}], c: 1}',
    '{"x":{"a":2,"b":3},"z":{"a":2,"b":3,"c":1}}',
  ],
  ['a: &a 1\nb: {"<<": {a: 2}, a: 1}', '{"a":1,"b":{"\\u003c\\u003c":{"a":2},"a":1}}'],
  ['  a: b\nc: d', '{"a":"b"}'],
  ['[]x\n', '[]'],
  ['a: b\n  \t\nc: d', '{"a":"b","c":"d"}'],
  ['a: [b,\n\t\n  c]', '{"a":["b","c"]}'],
] as const)('%j is read as %s', ([text, body]) => {
  expect(bodyOf(text)).toBe(body);
});
