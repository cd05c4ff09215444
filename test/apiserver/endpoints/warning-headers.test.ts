import { expect, test } from 'vitest';
import { warningHeaders } from '../../../src/apiserver/endpoints/respond.ts';

const written = (headers: readonly string[]): string[] =>
  headers.map((header) => Buffer.from(header, 'latin1').toString());

test('each warning once, quoted, in UTF-8; none with control characters', () => {
  const warnings = ['unknown field "é😀"', 'a\\b', 'unknown field "é😀"', '', 'two\nlines'];
  const headers = warningHeaders(warnings);
  expect(written(headers)).toEqual(['299 - "unknown field \\"é😀\\""', '299 - "a\\\\b"']);
  expect(headers.every((header) => /^[\x20-\xff]*$/.test(header))).toBe(true);
});

test('beyond 4,096 characters each is cut after 256, and what comes beyond that again is left out', () => {
  const long = (letter: string): string => letter.repeat(2000);
  expect(written(warningHeaders([long('é'), long('b')]))).toEqual([
    `299 - "${long('é')}"`,
    `299 - "${long('b')}"`,
  ]);
  const cut = warningHeaders([long('é'), 'short', long('b'), long('c')]);
  expect(written(cut)).toEqual(
    ['é', 'short', 'b', 'c'].map((text) => `299 - "${text.length > 1 ? text : text.repeat(256)}"`),
  );
  const many = Array.from({ length: 100 }, (_, at) => `${at} `.padEnd(300, 'x'));
  expect(warningHeaders(many)).toHaveLength(16);
});
