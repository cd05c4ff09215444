import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dropOldCode } from '../../../src/cli/process/code-cache.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'code-cache-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const before = Date.UTC(2026, 8, 1);

function write(version: string, name: string, at: number): void {
  mkdirSync(join(folder, version), { recursive: true });
  const file = join(folder, version, name);
  writeFileSync(file, 'code');
  utimesSync(file, at / 1000, at / 1000);
}

test('code of long ago is removed, and the folder of a version that has none left', async () => {
  write('v24.20.0-x64-1c717fce-0', '614c5f27', before - 1000);
  write('v24.21.0-x64-1c717fce-0', '614c5f27', before - 1000);
  write('v24.21.0-x64-1c717fce-0', 'e6f309a2', before);
  await dropOldCode(folder, before);
  expect(readdirSync(folder)).toEqual(['v24.21.0-x64-1c717fce-0']);
  expect(readdirSync(join(folder, 'v24.21.0-x64-1c717fce-0'))).toEqual(['e6f309a2']);
});

test("what is not Node's is left alone, however old", async () => {
  write('mine', '614c5f27', before - 1000);
  write('v24.21.0-x64-1c717fce-0', 'notes.txt', before - 1000);
  await dropOldCode(folder, before);
  expect(existsSync(join(folder, 'mine', '614c5f27'))).toBe(true);
  expect(existsSync(join(folder, 'v24.21.0-x64-1c717fce-0', 'notes.txt'))).toBe(true);
});
