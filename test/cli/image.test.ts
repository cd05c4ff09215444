import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Images } from '../../src/app/images.ts';
import { image } from '../../src/cli/image.ts';
import { runProgram, type Commands } from '../../src/cli/program.ts';
import { busyboxImage, layoutOf } from '../support/images.ts';
import { type Registry, startRegistry } from '../support/registry.ts';

const box = busyboxImage('x/box:1');
const id = box.configDigest.slice(7, 19);
let dir: string;
let registry: Registry;
let name: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-image-'));
  registry = await startRegistry([box], { basicAuth: 'me:secret' });
  name = `${registry.host}/box:1`;
  writeFileSync(join(dir, 'box.tar'), layoutOf([busyboxImage('localhost/box:1')]));
});
afterEach(async () => {
  await registry.close();
  rmSync(dir, { recursive: true, force: true });
});

interface Around {
  readonly isTTY?: boolean;
  readonly input?: string;
  /** Receives the function that interrupts. */
  readonly onSignal?: (interrupt: () => void) => void;
}

/** Runs `podtender image …` in a data directory of its own. */
async function run(args: readonly string[], { isTTY = false, input = '', onSignal }: Around = {}) {
  let out = '';
  const warnings: string[] = [];
  const commands: Pick<Commands, 'image'> = {
    image: (options) =>
      image(options, {
        open: (settings) => new Images(settings),
        stdout: { isTTY, columns: 60, write: (text) => (out += text) },
        warn: (line) => warnings.push(line),
        now: () => Date.now(),
        readInput: () => Promise.resolve(input),
        onSignal: (listener) => {
          onSignal?.(listener);
          return () => undefined;
        },
      }),
  };
  const around = {
    env: { PODTENDER_DATA_DIR: dir },
    cwd: dir,
    exampleManifests: '/none',
    uid: 0,
    version: '1',
  };
  const code = await runProgram(['image', ...args], commands as Commands, around);
  return { code, out, warnings, lines: out.split('\n').slice(0, -1) };
}
const pull = (...args: readonly string[]): ReturnType<typeof run> =>
  run(['pull', '--username', 'me', '--password-stdin', ...args], { input: 'secret\n' });

describe('pull', () => {
  test('says what it fetches, line by line, and which image it is', async () => {
    const { code, lines } = await pull(name);
    expect(code).toBe(0);
    expect(lines[0]).toMatch(
      new RegExp(`^${name}: ${box.manifestDigest}: 2 of 2 blobs to fetch, [\\d.]+ MB$`),
    );
    expect(lines.at(-2)).toBe(`${name}: unpacking layer 1 of 1`);
    expect(lines.at(-1)).toMatch(new RegExp(`^${name}: ready, ${id}, [\\d.]+ MB$`));
    expect((await pull(name)).lines[0]).toContain('0 of 2 blobs to fetch');
  });

  test('writes one line over itself on a terminal, and nothing of it stays', async () => {
    const { out } = await run(['pull', '--username', 'me', '--password-stdin', name], {
      isTTY: true,
      input: 'secret',
    });
    expect(out).toContain(`\r${name}: unpacking layer 1 of 1\u001b[K`);
    expect(out).toMatch(/\r\u001b\[K[^\r]+: ready, [^\r]+\n$/);
  });

  test('prints JSON lines', async () => {
    const { lines } = await pull('--output', 'json', name);
    const rows = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    expect(rows.map(({ type }) => type)).toEqual(['resolved', 'blob', 'blob', 'unpack', 'ready']);
    expect(rows.at(-1)).toMatchObject({ image: name, id: box.configDigest });
  });

  test('takes credentials from a file, and tells why there are none', async () => {
    const auth = Buffer.from('me:secret').toString('base64');
    writeFileSync(join(dir, 'auth.json'), JSON.stringify({ auths: { [registry.host]: { auth } } }));
    expect(await run(['pull', '--authfile', 'auth.json', name])).toMatchObject({ code: 0 });
    writeFileSync(join(dir, 'none.json'), '{"auths":{}}');
    expect(await run(['pull', '--authfile', 'none.json', name])).toMatchObject({
      code: 1,
      warnings: [`${name}: the registry wants credentials, there are none`],
    });
    expect((await run(['pull', '--authfile', 'gone.json', name])).code).toBe(2);
  });

  test('goes on after one that failed, and ends with its code', async () => {
    const { code, warnings, lines } = await pull(`${registry.host}/box:none`, 'UPPER/x', name);
    expect(code).toBe(1);
    expect(warnings[0]).toContain(`${registry.host}/box:none: manifests/none: 404 MANIFEST_UNKNOWN`);
    expect(warnings[1]).toContain('UPPER/x: ');
    expect(lines.at(-1)).toContain(': ready, ');
  });

  test('is continued after an interrupt', async () => {
    const layer = [...box.blobs].find(([, { length }]) => length > 100_000)?.[0] ?? '';
    registry.faults.push({ path: layer, cutAfter: 900_000 }, { path: layer, delayMs: 1000 });
    let interrupt = (): void => undefined;
    const args = ['pull', '--username', 'me', '--password-stdin', name];
    const started = run(args, { input: 'secret', onSignal: (act) => (interrupt = act) });
    await expect.poll(() => registry.ranges.length, { timeout: 10_000 }).toBeGreaterThan(0);
    interrupt();
    expect(await started).toMatchObject({
      code: 130,
      warnings: [`${name}: interrupted; what is there is kept for the next pull`],
    });
    registry.faults.length = 0;
    expect((await pull(name)).code).toBe(0);
  });
});

describe('the images that there are', () => {
  test('are imported, listed, and removed by name', async () => {
    expect((await run(['import', 'box.tar'])).lines.at(-1)).toContain('localhost/box:1: ready, ');
    await run(['import', '--name', 'other:2', 'box.tar']);
    const { lines } = await run(['ls']);
    expect(lines[0]).toMatch(/^IMAGE +ID +SIZE +AGE +CONTAINERS$/);
    expect(lines.map((line) => line.split(' ')[0])).toEqual([
      'IMAGE',
      'localhost/box:1',
      'docker.io/library/other:2',
    ]);
    const json = JSON.parse((await run(['ls', '--output', 'json'])).out) as object;
    expect(json).toMatchObject({ id: box.configDigest, containers: 0 });
    expect((await run(['rm', 'other:2'])).out).toBe('removed other:2\n');
    expect((await run(['ls'])).lines).toHaveLength(2);
    expect(await run(['rm', 'other:2'])).toMatchObject({
      code: 1,
      warnings: ['other:2: image "other:2" is not in the image store'],
    });
  });

  test('stay while a container uses them', async () => {
    await run(['import', 'box.tar']);
    const container = join(dir, 'oci/containers/c1');
    mkdirSync(container, { recursive: true });
    writeFileSync(
      join(container, 'container.json'),
      JSON.stringify({ id: 'c1', image: { id: box.configDigest } }),
    );
    expect(await run(['rm', 'localhost/box:1'])).toMatchObject({
      code: 69,
      warnings: ['localhost/box:1: image localhost/box:1 is in use by a container'],
    });
    expect((await run(['gc', '--unused'])).out).toBe('freed 0 B\n');
    expect((await run(['ls'])).lines[1]).toMatch(/ 1$/);
    rmSync(container, { recursive: true });
    expect((await run(['gc', '--unused', '--older-than', '1h'])).out).toBe('freed 0 B\n');
    expect((await run(['gc', '--unused'])).lines).toEqual([
      'removed localhost/box:1',
      expect.stringMatching(/^freed [\d.]+ MB$/),
    ]);
    expect((await run(['ls'])).lines).toHaveLength(1);
  });

  test('are none in a file of something else', async () => {
    writeFileSync(join(dir, 'no.tar'), 'nothing of the kind');
    const { code, warnings } = await run(['import', 'no.tar', 'gone.tar']);
    expect(code).toBe(2);
    expect(warnings[0]).toMatch(/no\.tar/);
    expect(warnings[1]).toMatch(/gone\.tar: there is no file/);
  });
});

test.each([
  [['pull', '--username', 'me', 'x'], '--username and --password-stdin go together'],
  [['import', '--name', 'x', 'a', 'b'], '--name is for one file'],
  [['gc', '--older-than', 'x'], 'it must be a duration'],
])('%j is refused', async (args, message) => {
  let text = '';
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((part) => {
    text += String(part);
    return true;
  });
  try {
    expect((await run(args)).code).toBe(2);
  } finally {
    write.mockRestore();
  }
  expect(text).toContain(message);
});
