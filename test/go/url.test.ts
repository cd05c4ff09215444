import { expect, test } from 'vitest';
import { bytesOf, GoUrl, parseUrl, textOf } from '../../src/go/url.ts';

test.for([
  ['http://a/b?c#d', 'http://a/b?c#d'],
  ['HTTP://u:p%40@a:1/b%2fc?q=ü#f', 'http://u:p%40@a:1/b%2fc?q=ü#f'],
  ['/a b', '/a%20b'],
  ['/ü?ü', '/%C3%BC?ü'],
  ['a?', 'a?'],
  ['./a:b', './a:b'],
  ['mailto:x?y', 'mailto:x?y'],
  ['file:/x', 'file:/x'],
  ['//h/x', '//h/x'],
  ['http://[fe80::1%25en0]:80/', 'http://[fe80::1%25en0]:80/'],
  ['*', '*'],
] as const)('%s is written as %s', ([text, written]) => {
  expect(textOf(String(parseUrl(bytesOf(text))))).toBe(written);
});

test.for([
  ['::bad', 'parse "::bad": missing protocol scheme'],
  ['a:b', undefined],
  ['1a:b', 'parse "1a:b": first path segment in URL cannot contain colon'],
  ['/a\u0001', 'parse "/a\\x01": net/url: invalid control character in URL'],
  ['/%zz', 'parse "/%zz": invalid URL escape "%zz"'],
  ['/%z', 'parse "/%z": invalid URL escape "%z"'],
  ['/a#%', 'parse "/a#%": invalid URL escape "%"'],
  ['http://a b/', 'parse "http://a b/": invalid character " " in host name'],
  ['http://a%41/', 'parse "http://a%41/": invalid URL escape "%41"'],
  ['http://a:b/', 'parse "http://a:b/": invalid port ":b" after host'],
  ['http://a:1:2/', 'parse "http://a:1:2/": invalid port ":1:2" after host'],
  ['http://[::1/', `parse "http://[::1/": missing ']' in host`],
  ['http://[1.2.3.4]/', 'parse "http://[1.2.3.4]/": invalid IP-literal'],
  ['http://u<@a/', 'parse "http://u<@a/": net/url: invalid userinfo'],
] as const)('%s: %s', ([text, fault]) => {
  const read = (): GoUrl => parseUrl(bytesOf(text));
  if (fault === undefined) expect(read).not.toThrow();
  else expect(read).toThrow(fault);
});

test.for([
  ['b', 'http://u@h:1/a/b'],
  ['../b', 'http://u@h:1/b'],
  ['../../../b/./c/..', 'http://u@h:1/b/'],
  ['/b?c', 'http://u@h:1/b?c'],
  ['?c', 'http://u@h:1/a/x?c'],
  ['#c', 'http://u@h:1/a/x?q#c'],
  ['//o/b', 'http://o/b'],
  ['https://o', 'https://o'],
  ['https://o/a/../b', 'https://o/b'],
  ['mailto:x', 'mailto:x'],
  ['', 'http://u@h:1/a/x?q'],
] as const)('%j on a page leads to %s', ([reference, to]) => {
  expect(String(parseUrl('http://u@h:1/a/x?q').resolve(reference))).toBe(to);
});

test('a URL has a host without its port, and may be shown without its password', () => {
  expect([parseUrl('http://[::1]:80/').hostname, parseUrl('http://h:80/').hostname]).toEqual(['::1', 'h']);
  expect(parseUrl('http://h:80/').port).toBe('80');
  expect(parseUrl('http://u%20v:p@h/x').withoutPassword).toBe('http://u v:***@h/x');
  expect(parseUrl('http://u:p@h/x').withoutUser).toBe('http://h/x');
  expect(new GoUrl({ scheme: 'http', opaque: '//x', query: 'y' }).requestUri).toBe('http://x?y');
});
