import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstValueFrom, type Observable, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nodeFiles, watchFiles } from '../../src/config/node-files.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'manifests-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('the machine’s files', () => {
  test('kinds, names and texts', async () => {
    await writeFile(join(dir, 'a.yaml'), 'text');
    await mkdir(join(dir, 'sub'));
    await symlink('/dev/null', join(dir, 'null'));
    expect(
      await Promise.all(['a.yaml', 'sub', 'null'].map((name) => nodeFiles.kindOf(join(dir, name)))),
    ).toEqual(['file', 'directory', 'other']);
    expect([...(await nodeFiles.namesIn(dir))].sort()).toEqual(['a.yaml', 'null', 'sub']);
    expect(await nodeFiles.readText(join(dir, 'a.yaml'), 4)).toBe('text');
  });

  test('a file beyond the limit is refused, one that is missing or a directory says so', async () => {
    await writeFile(join(dir, 'a.yaml'), 'text');
    await expect(nodeFiles.readText(join(dir, 'a.yaml'), 3)).rejects.toMatchObject({ code: 'EFBIG' });
    await expect(nodeFiles.readText(join(dir, 'none'), 3)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(nodeFiles.readText(dir, 3)).rejects.toMatchObject({ code: 'EISDIR' });
  });

  test('a pipe that nobody writes to and a device without end are refused, not waited for', async () => {
    execFileSync('mkfifo', [join(dir, 'pipe.yaml')]);
    await symlink('/dev/zero', join(dir, 'zero.yaml'));
    for (const name of ['pipe.yaml', 'zero.yaml'])
      await expect(nodeFiles.readText(join(dir, name), 3)).rejects.toThrow('neither a file nor a directory');
  });
});

/** Collects changes until `act` is done and the inotify events of it arrived: real time, since inotify has no other. */
async function changesDuring(
  changes: Observable<{ events: readonly string[]; file: string }>,
  act: () => Promise<unknown>,
): Promise<{ lines: string[]; error?: unknown }> {
  const seen: { lines: string[]; error?: unknown } = { lines: [] };
  const subscription = changes.subscribe({
    next: ({ events, file }) => seen.lines.push(`${events.join('|')} ${file.slice(dir.length)}`),
    error: (error: unknown) => (seen.error = error),
  });
  await new Promise((resolve) => setTimeout(resolve, 40));
  await act();
  await new Promise((resolve) => setTimeout(resolve, 60));
  subscription.unsubscribe();
  return seen;
}

describe('watching, over real inotify', () => {
  test('a file comes, changes and goes', async () => {
    const { lines } = await changesDuring(watchFiles(dir), async () => {
      await writeFile(join(dir, 'a.yaml'), '1');
      await new Promise((resolve) => setTimeout(resolve, 20));
      await writeFile(join(dir, 'a.yaml'), '2');
      await new Promise((resolve) => setTimeout(resolve, 20));
      await rm(join(dir, 'a.yaml'));
    });
    expect(lines).toContain('CREATE /a.yaml');
    expect(lines).toContain('WRITE /a.yaml');
    expect(lines.at(-1)).toBe('REMOVE /a.yaml');
  });

  test('a file that is removed and made again at once has gone in between; one that is replaced has not', async () => {
    const [a, b, other] = ['a.yaml', 'b.yaml', '.b.tmp'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    for (const file of [a, b, other]) await writeFile(file, '1');
    const { lines } = await changesDuring(watchFiles(dir), async () => {
      rmSync(a);
      writeFileSync(a, '1');
      await rename(other, b);
    });
    const names = (name: string): string[] => lines.filter((line) => line.endsWith(name));
    expect(names('/a.yaml')).toEqual(['REMOVE /a.yaml', 'CREATE /a.yaml']);
    expect(names('/b.yaml')).toEqual(['CREATE /b.yaml']);
  });

  test('a single file', async () => {
    const file = join(dir, 'a.yaml');
    await writeFile(file, '1');
    const { lines } = await changesDuring(watchFiles(file), () => writeFile(file, '2'));
    expect(lines).toContain('WRITE /a.yaml');
  });

  test('fails when the directory vanishes, is replaced, or was never there', async () => {
    const sub = join(dir, 'sub');
    await mkdir(sub);
    expect((await changesDuring(watchFiles(sub), () => rm(sub, { recursive: true }))).error).toBeDefined();
    await mkdir(sub);
    const replace = async (): Promise<void> => {
      await rm(sub, { recursive: true });
      await mkdir(sub);
    };
    expect((await changesDuring(watchFiles(sub), replace)).error).toBeDefined();
    await expect(firstValueFrom(watchFiles(join(dir, 'none')).pipe(toArray()))).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });
});
