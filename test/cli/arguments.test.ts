import { expect, test } from 'vitest';
import { examples, port, settingsOf, url } from '../../src/cli/arguments.ts';

test('ports and addresses are read, or refused with what would be right', () => {
  expect([port('0'), port('65535')]).toEqual([0, 65_535]);
  for (const text of ['-1', '65536', '1.5', 'a', '']) expect(() => port(text)).toThrow('from 0 to 65535');
  expect(url('https://pods.example.com/list')).toBe('https://pods.example.com/list');
  for (const text of ['ftp://a', 'pods', ''])
    expect(() => url(text)).toThrow('must be an http:// or https:// URL');
});

test('settings are a path, or JSON as it stands', () => {
  expect(settingsOf('a.yaml', '/work')).toBe('/work/a.yaml');
  expect(settingsOf('{"a":1}', '/work')).toBe('{"a":1}');
  expect(settingsOf(undefined, '/work')).toBeUndefined();
  expect(examples(['podtender up'])).toBe('\nExamples:\n  podtender up\n');
});
