import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstValueFrom, toArray } from 'rxjs';
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

  test('a pipe without a writer and an endless device are rejected without waiting', async () => {
    execFileSync('mkfifo', [join(dir, 'pipe.yaml')]);
    await symlink('/dev/zero', join(dir, 'zero.yaml'));
    for (const name of ['pipe.yaml', 'zero.yaml'])
      await expect(nodeFiles.readText(join(dir, name), 3)).rejects.toThrow('neither a file nor a directory');
  });
});

interface Seen {
  readonly lines: string[];
  error?: unknown;
}

/** Watches from when inotify is seen to tell of `dir`, does `act`, and goes on until what is expected was told: inotify tells when it likes. */
async function changesDuring(
  watched: string,
  act: () => Promise<unknown>,
  done: (seen: Seen) => boolean,
): Promise<Seen> {
  const seen: Seen = { lines: [] };
  const subscription = watchFiles(watched).subscribe({
    next: ({ events, file }) => seen.lines.push(`${events.join('|')} ${file.slice(dir.length)}`),
    error: (error: unknown) => (seen.error = error),
  });
  const poke = (await nodeFiles.kindOf(watched)) === 'directory' ? join(watched, '.begun') : watched;
  await expect.poll(() => writeFile(poke, '').then(() => seen.lines)).not.toEqual([]);
  await act();
  await expect.poll(() => done(seen), { timeout: 5000 }).toBe(true);
  subscription.unsubscribe();
  return { ...seen, lines: seen.lines.filter((line) => !line.endsWith('.begun')) };
}

describe('watching, over real inotify', () => {
  test('a file comes, changes and goes', async () => {
    const file = join(dir, 'a.yaml');
    const told = (event: string) => (seen: Seen) => seen.lines.includes(`${event} /a.yaml`);
    await changesDuring(dir, () => writeFile(file, '1'), told('CREATE'));
    await changesDuring(dir, () => writeFile(file, '2'), told('WRITE'));
    const { lines } = await changesDuring(dir, () => rm(file), told('REMOVE'));
    expect(lines).toEqual(['REMOVE /a.yaml']);
  });

  test('a file that is removed and made again at once has gone in between; one that is replaced has not', async () => {
    const [a, b, other] = ['a.yaml', 'b.yaml', '.b.tmp'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    for (const file of [a, b, other]) await writeFile(file, '1');
    const ofName = ({ lines }: Seen, name: string): string[] => lines.filter((line) => line.endsWith(name));
    const replace = async (): Promise<void> => {
      rmSync(a);
      writeFileSync(a, '1');
      await rename(other, b);
    };
    const seen = await changesDuring(
      dir,
      replace,
      (now) => ofName(now, '/a.yaml').includes('CREATE /a.yaml') && ofName(now, '/b.yaml').length > 0,
    );
    expect(ofName(seen, '/a.yaml')).toEqual(['REMOVE /a.yaml', 'CREATE /a.yaml']);
    expect(ofName(seen, '/b.yaml')).toEqual(['CREATE /b.yaml']);
  });

  test('a single file', async () => {
    const file = join(dir, 'a.yaml');
    await writeFile(file, '1');
    const { lines } = await changesDuring(
      file,
      () => writeFile(file, '2'),
      (seen) => seen.lines.length > 1,
    );
    expect(lines).toContain('WRITE /a.yaml');
  });

  test('fails when the directory vanishes, is replaced, or was never there', async () => {
    const sub = join(dir, 'sub');
    const failed = ({ error }: Seen): boolean => error !== undefined;
    await mkdir(sub);
    await changesDuring(sub, () => rm(sub, { recursive: true }), failed);
    await mkdir(sub);
    // at once: the new one has the number that the file system just got back
    const replace = async (): Promise<void> => {
      rmSync(sub, { recursive: true });
      mkdirSync(sub);
    };
    const { error } = await changesDuring(sub, replace, failed);
    expect(String(error)).toMatch(/sub was replaced|ENOENT/); // none there, should it have looked in between
    await expect(firstValueFrom(watchFiles(join(dir, 'none')).pipe(toArray()))).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });
});
