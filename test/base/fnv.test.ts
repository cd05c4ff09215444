import { expect, test } from 'vitest';
import { fnv1, fnv1a32 } from '../../src/base/fnv.ts';

test('FNV-1 and FNV-1a of 32 bits give the published values', () => {
  expect([fnv1(''), fnv1('a'), fnv1('foobar')]).toEqual([0x811c9dc5, 0x050c5d7e, 0x31f0b262]);
  expect([fnv1a32(''), fnv1a32('a'), fnv1a32('foobar')]).toEqual([0x811c9dc5, 0xe40c292c, 0xbf9cf968]);
});

test('bytes after a text are hashed after it', () => {
  expect(fnv1a32('foo', Buffer.from('bar'))).toBe(fnv1a32('foobar'));
});
