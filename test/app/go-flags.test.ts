import { expect, test } from 'vitest';
import { flagHelp, isSet, lastOf, listOf, parseFlags } from '../../src/app/go-flags.ts';

const table = { values: ['name', 'list'], booleans: ['on'] };

test('flags are read as Go programs read them', () => {
  const flags = parseFlags(['--name', 'a', '-name=b', '--on', '--list=x,y', '--list', 'z'], table);
  expect(flags.get('name')).toEqual(['a', 'b']);
  expect(lastOf(flags, 'name')).toBe('b');
  expect(listOf(flags, 'list')).toEqual(['x', 'y', 'z']);
  expect(isSet(flags, 'on')).toBe(true);
  expect(isSet(parseFlags(['--on=false'], table), 'on', true)).toBe(false);
  expect(isSet(new Map(), 'on', true)).toBe(true);
  // a boolean takes no word of its own, and a value may look like a flag
  expect(() => parseFlags(['--on', 'true'], table)).toThrow('unexpected argument "true"');
  expect(parseFlags(['--name', '--on'], table).get('name')).toEqual(['--on']);
});

test.each([
  [['--nome', 'x'], 'unknown flag: --nome'],
  [['--name'], 'flag needs an argument: --name'],
  [['--on=perhaps'], 'invalid argument "perhaps" for "--on" flag'],
  [['serve'], 'unexpected argument "serve"'],
])('%j is a mistake', (args, text) => {
  expect(() => parseFlags(args, table)).toThrow(text);
});

test('help has a line for each flag', () => {
  expect(flagHelp('x [flags]', table)).toBe(
    'x [flags]\n\nFlags:\n      --list string\n      --name string\n      --on\n',
  );
});
