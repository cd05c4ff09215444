import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LogFile } from '../../../src/containers/logs/log-file.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'log-file-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Counts the bytes that are copied to join buffers. */
async function copiedBytes(act: () => Promise<void>): Promise<number> {
  const concat = vi.spyOn(Buffer, 'concat');
  try {
    await act();
    return concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
  } finally {
    concat.mockRestore();
  }
}

test('the bytes of a line of many blocks are copied once', async () => {
  const path = join(folder, '0.log');
  const long = 'x'.repeat(4 * 1024 * 1024);
  writeFileSync(path, `${long}\nshort\nrest`);
  const file = await LogFile.open(path, undefined);
  const copied = await copiedBytes(async () => {
    expect((await file.nextLine())?.toString()).toBe(`${long}\n`);
    expect((await file.nextLine())?.toString()).toBe('short\n');
    expect(await file.nextLine()).toBeUndefined();
    expect(await file.nextLine()).toBeUndefined();
    expect(file.takeRest().toString()).toBe('rest');
    expect(file.takeRest().length).toBe(0);
  });
  await file.close();
  expect(copied).toBeLessThan(2 * long.length);
});
