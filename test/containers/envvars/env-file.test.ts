import { expect, test } from 'vitest';
import { envFileValue } from '../../../src/containers/envvars/env-file.ts';

test.for<[string, string, string | undefined]>([
  ['a value', "KEY='value'\n", 'value'],
  ['lines end as they do elsewhere', "A='1'\r\nKEY='v'\r\n", 'v'],
  ['blanks, comments and what comes before', "\n  # KEY='no'\n\t A='1' # one\n  KEY='v' # two", 'v'],
  ['several lines', "KEY='a\n  # b\nc'\n", 'a\n  # b\nc'],
  ['a key in the value of another', "A='x\nKEY=1\n'\nKEY='2'", '2'],
  ['nothing is expanded', "KEY='$A \\n \"'", '$A \\n "'],
  ['the first of two', "KEY='1'\nKEY='2'", '1'],
  ['a blank after the sign assigns nothing', "KEY= 'v'\n", undefined],
  ['nothing in it', "KEY=''", undefined],
  ['no such key', "A='1'", undefined],
  ['what follows the key is not read', "KEY='v'\n???", 'v'],
])('%s', ([, text, value]) => {
  expect(envFileValue(text, 'KEY')).toBe(value);
});

test.for<[string, string]>([
  ['KEY', "at line 1: missing '='"],
  ["\n='v'", 'at line 2: empty variable name'],
  ["KEY ='v'", "at line 1: whitespace before '=' is not allowed"],
  ['KEY=v', 'at line 1: value must be enclosed in single quotes'],
  ["KEY='a\nb'c", 'at line 2: unexpected content after closing quote'],
  ["A='1'\nKEY='a\nb\n", 'starting at line 2: unclosed single quote'],
])('%j is refused', ([text, why]) => {
  expect(() => envFileValue(text, 'KEY')).toThrow(`invalid environment variable format ${why}`);
});
