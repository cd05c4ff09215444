import { describe, expect, test } from 'vitest';
import { parseDocument, parseYaml } from '../../../src/go/yaml/document.ts';
import { readerFault, withLineFeeds, yamlText } from '../../../src/go/yaml/reader.ts';

const utf16 = (text: string, bigEndian = false): Buffer => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return bigEndian ? bytes.swap16() : bytes;
};
const valueOf = (bytes: Buffer): unknown => {
  const parsed = parseDocument(yamlText(bytes));
  return parsed.ok ? parsed.document.value : parsed.fault.message;
};

describe('encodings', () => {
  const text = 'a: ä€😀\nb: [1, 2]\n';
  const value = { a: 'ä€😀', b: [1, 2] };
  test.for<readonly [string, Buffer]>([
    ['UTF-8', Buffer.from(text)],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`)],
    ['UTF-16, little-endian', utf16(text)],
    ['UTF-16, big-endian', utf16(text, true)],
    ['JSON in UTF-16', utf16('{"a": "ä€😀", "b": [1, 2]}')],
    ['JSON in UTF-8 with a byte order mark', Buffer.from('\ufeff{"a": "ä€😀", "b": [1, 2]}')],
  ])('%s is read', ([, bytes]) => {
    expect(valueOf(bytes)).toEqual(value);
  });

  test.for<readonly [string, Buffer, string]>([
    ['a lone octet', Buffer.from([0x61, 0xff]), 'invalid leading UTF-8 octet'],
    ['a broken sequence', Buffer.from([0xc3, 0x28]), 'invalid trailing UTF-8 octet'],
    ['a sequence that is cut', Buffer.from([0x61, 0xe2, 0x82]), 'incomplete UTF-8 octet sequence'],
    ['one that is too long', Buffer.from([0xc0, 0x80]), 'invalid length of a UTF-8 sequence'],
    ['a surrogate', Buffer.from([0xed, 0xa0, 0x80]), 'invalid Unicode character'],
    ['half a unit', Buffer.concat([utf16('a: b'), Buffer.from([0x61])]), 'incomplete UTF-16 character'],
    ['a low surrogate', utf16('a: \udc00'), 'unexpected low surrogate area'],
    ['a high surrogate alone', utf16('a: \ud800x'), 'expected low surrogate area'],
    ['a high surrogate at the end', utf16('a: \ud800'), 'incomplete UTF-16 surrogate pair'],
    ['UTF-16 without a mark', Buffer.from('a: b', 'utf16le'), 'control characters are not allowed'],
    ['a control character before', Buffer.from([0x01, 0xff]), 'control characters are not allowed'],
  ])('%s is refused in the words of go-yaml', ([, bytes, fault]) => {
    expect(readerFault(yamlText(bytes))).toBe(fault);
    expect(valueOf(bytes)).toBe(`yaml: ${fault}`);
  });

  test('a large text is read as a small one is', () => {
    const list = Array.from({ length: 20_000 }, (_, i) => `- é${i}`).join('\n');
    expect(valueOf(utf16(list))).toHaveLength(20_000);
  });
});

describe('line ends', () => {
  test.for(['\n', '\r\n', '\r', '\u0085', '\u2028', '\u2029'])('%j ends a line', (end) => {
    const text = ['# a comment', 'kind: Pod', 'spec:', '  list:', '  - one', '  - "two"', ''].join(end);
    expect(valueOf(Buffer.from(text))).toEqual({ kind: 'Pod', spec: { list: ['one', 'two'] } });
  });

  test.for<readonly [string, unknown]>([
    ['a: "x\u2028y"', { a: 'x\u2028y' }],
    ["a: 'x\u2029y'", { a: 'x\u2029y' }],
    ['a: "x\ry"', { a: 'x y' }],
    ['a: "x\u0085y"', { a: 'x y' }],
    ['a: |\r  x\r  y\r', { a: 'x\ny\n' }],
  ])('%j', ([text, value]) => {
    const parsed = parseYaml(text);
    expect(parsed.ok && parsed.document.value).toEqual(value);
  });

  test('characters stay where they were', () => {
    const text = 'a: 1\r\nb: 2\rc: "\u2028"\u2028d: [\u2029]\u0085# e\n';
    expect(withLineFeeds(text)).toHaveLength(text.length);
    const parsed = parseYaml('a: 1\rb: 2\r');
    expect(parsed.ok && parsed.document.locate(['b'])).toEqual({ line: 2, column: 4 });
  });
});
