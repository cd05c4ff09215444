import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeTree } from '../../../src/base/files/remove-tree.ts';

let root: string;
let dir: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'pt-rm-'));
  dir = join(root, 'dir-ä');
  mkdirSync(dir);
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const fill = (path: string | Buffer, count: number): void => {
  for (let i = 0; i < count; i++) writeFileSync(Buffer.concat([Buffer.from(path), Buffer.from(`/${i}`)]), '');
};

test('many files go while others are served', async () => {
  for (const name of ['a', 'b']) {
    mkdirSync(join(dir, name));
    fill(join(dir, name), 700);
  }
  let served = false;
  setImmediate(() => {
    served = true;
  });
  await removeTree(dir);
  expect([served, existsSync(dir)]).toEqual([true, false]);
});

test('few files go at once', async () => {
  fill(dir, 20);
  const over = removeTree(dir);
  expect(existsSync(dir)).toBe(false);
  await over;
});

test.for([20, 2000])('what a link leads to stays, odd names go (%i files)', async (count) => {
  const other = join(root, 'other');
  mkdirSync(other);
  writeFileSync(join(other, 'file'), '');
  symlinkSync(other, join(dir, 'link'));
  const odd = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xe4, 0xff])]);
  mkdirSync(odd);
  fill(odd, count);
  await removeTree(dir);
  expect([existsSync(dir), readdirSync(other)]).toEqual([false, ['file']]);
});

test('paths longer than the system takes go', async () => {
  const home = process.cwd();
  process.chdir(dir);
  for (let depth = 0; depth < 1200; depth++) {
    mkdirSync('deep');
    process.chdir('deep');
  }
  process.chdir(home);
  await removeTree(dir);
  expect(existsSync(dir)).toBe(false);
});

test('what is not there is gone already', async () => {
  await removeTree(join(root, 'none'));
  expect(readdirSync(root)).toHaveLength(1);
});

test('directories that their owner may not read or change go too', async () => {
  const inner = join(dir, 'closed', 'inner');
  mkdirSync(inner, { recursive: true });
  fill(inner, 2);
  const script = `import { chmodSync } from 'node:fs';
    import { removeTree } from ${JSON.stringify(new URL('../../../src/base/files/remove-tree.ts', import.meta.url).href)};
    chmodSync(${JSON.stringify(inner)}, 0o555);
    chmodSync(${JSON.stringify(join(dir, 'closed'))}, 0);
    await removeTree(${JSON.stringify(dir)});`;
  const uid = process.getuid?.() === 0 ? 65534 : undefined;
  if (uid !== undefined) execFileSync('chown', ['-R', String(uid), root]);
  execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    ...(uid !== undefined && { uid, gid: uid }),
  });
  expect(existsSync(dir)).toBe(false);
});
