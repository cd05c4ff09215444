import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadProgram } from '../../../src/cli/process/bundled-program.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bundled-program-'));
  mkdirSync(join(folder, 'program'));
  write(
    'main.cjs',
    "const { double } = require('./part.cjs'); exports.four = () => double(2); exports.file = __filename;",
  );
  write(
    'part.cjs',
    "exports.path = require('node:path'); exports.double = (value) => value * 2; exports.main = require('./main.cjs');",
  );
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const write = (name: string, text: string): void => {
  writeFileSync(join(folder, 'program', name), text);
};
const main = (): string => join(folder, 'program', 'main.cjs');
const codeFolder = (): string => join(folder, 'code');

interface Main {
  four(): number;
  readonly file: string;
}

function load(): { program: Main; keep: (staleBefore: number) => void } {
  const { exports, code } = loadProgram(main(), codeFolder());
  return {
    program: exports as Main,
    keep: (staleBefore) => {
      code?.keep(staleBefore);
    },
  };
}

/** The files of compiled code, sorted. */
function kept(): string[] {
  const [version = 'none', ...others] = readdirSync(codeFolder());
  expect(others).toEqual([]);
  return readdirSync(join(codeFolder(), version))
    .sort()
    .map((name) => join(codeFolder(), version, name));
}

/** Makes all code one of 1970, so that what is written again can be told. */
const makeOld = (): void => {
  for (const file of kept()) utimesSync(file, 1, 1);
};
const rewritten = (): number => kept().filter((file) => statSync(file).mtimeMs > 1000).length;

test('files that ask for one another are loaded once, as Node loads CommonJS', () => {
  const { program } = load();
  expect(program.four()).toBe(4);
  expect(program.file).toBe(main());
});

test('the code of what ran is kept, for this user alone, and taken by the next start', () => {
  const first = load();
  first.keep(0);
  const before = kept().map((file) => statSync(file).size);
  expect(before).toHaveLength(2);
  expect(kept().map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
  makeOld();
  const second = load();
  expect(second.program.four()).toBe(4);
  second.keep(0);
  expect(rewritten()).toBe(0);
});

test('functions that ran before it was written are in it', () => {
  load().keep(0);
  const idle = kept().reduce((sum, file) => sum + statSync(file).size, 0);
  rmSync(codeFolder(), { recursive: true });
  const { program, keep } = load();
  program.four();
  keep(0);
  expect(kept().reduce((sum, file) => sum + statSync(file).size, 0)).toBeGreaterThan(idle);
});

test('code of before a given time is written again', () => {
  load().keep(0);
  makeOld();
  load().keep(Date.now() - 60_000);
  expect(rewritten()).toBe(2);
});

test('a damaged file is not given to V8 and is replaced', () => {
  load().keep(0);
  for (const file of kept()) {
    const data = readFileSync(file);
    data.fill(0xa5, data.length >> 1);
    writeFileSync(file, data);
  }
  makeOld();
  const { program, keep } = load();
  expect(program.four()).toBe(4);
  keep(0);
  expect(rewritten()).toBe(2);
});

test('a file that has changed does not get the code of what it was', () => {
  load().keep(0);
  write('part.cjs', readFileSync(join(folder, 'program', 'part.cjs'), 'utf8').replace('* 2', '* 3'));
  expect(load().program.four()).toBe(6);
});

test('where nothing can be written, the program runs', () => {
  writeFileSync(codeFolder(), 'a file, where a folder should be');
  const { program, keep } = load();
  keep(0);
  expect(program.four()).toBe(4);
});

test('without a folder no code is kept', () => {
  expect(loadProgram(main(), undefined).code).toBeUndefined();
});
