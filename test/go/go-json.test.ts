import { expect, test } from 'vitest';
import { goJson, goStructJson } from '../../src/go/go-json.ts';

test('a map is written with its keys in order, those that look like numbers among them', () => {
  expect(goJson({ b: 1, 10: 'x', a: [{ d: null, c: true }], 9: {} })).toBe(
    '{"10":"x","9":{},"a":[{"c":true,"d":null}],"b":1}',
  );
});

test('what is not there is not written, but for its place in a list', () => {
  expect(goJson({ a: undefined, b: [undefined, 1] })).toBe('{"b":[null,1]}');
});

test('a struct is written in the order of its fields', () => {
  const value = { name: 'x', image: 'y', ports: [{ hostPort: 1, name: 'z' }] };
  expect(goStructJson(value)).toBe('{"name":"x","image":"y","ports":[{"hostPort":1,"name":"z"}]}');
  expect(goStructJson(value, ['image', 'name'])).toBe('{"image":"y","name":"x"}');
});

test('what HTML or JavaScript would read otherwise is escaped', () => {
  const text = '<a href="?b&c">\u2028\u2029';
  const written = '"\\u003ca href=\\"?b\\u0026c\\"\\u003e\\u2028\\u2029"';
  expect(goJson(text)).toBe(written);
  expect(goStructJson(text)).toBe(written);
});
