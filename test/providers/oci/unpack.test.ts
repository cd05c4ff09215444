import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { defaultLimits, unpackLayer, type UnpackLimits } from '../../../src/providers/oci/unpack.ts';

type Entry = Partial<Header> & { readonly name: string; readonly content?: string };

const isRoot = process.getuid?.() === 0;
let dir: string;
let root: string;
let outside: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-unpack-'));
  [root, outside] = [join(dir, 'root'), join(dir, 'outside')];
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'of the host');
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

async function tar(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack();
  for (const { content, ...header } of entries)
    archive.entry({ mtime: new Date(0), ...header }, content ?? '');
  archive.finalize();
  return buffer(archive);
}

async function unpack(
  entries: readonly Entry[] | Buffer,
  limits: UnpackLimits = defaultLimits,
  tally = { bytes: 0, entries: 0 },
): Promise<string> {
  const file = join(dir, 'layer');
  writeFileSync(file, Buffer.isBuffer(entries) ? entries : await tar(entries));
  return unpackLayer(file, root, { limits, tally, asRoot: isRoot });
}

const text = (path: string): string => readFileSync(join(root, path), 'utf8');
const untouched = (): void => {
  expect(readdirSync(outside)).toEqual(['secret']);
  expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('of the host');
  expect(readdirSync(dir).sort()).toEqual(['layer', 'outside', 'root']);
};

describe('a layer', () => {
  test('is unpacked from gzip, zstd and plain archives, and has the digest of the plain one', async () => {
    const plain = await tar([{ name: 'a', content: 'x' }]);
    const digest = await unpack(plain);
    expect(await unpack(gzipSync(plain))).toBe(digest);
    expect(await unpack(zstdCompressSync(plain))).toBe(digest);
    expect(text('a')).toBe('x');
  });

  test('of many zstd frames is one archive, and its frames without content are none of it', async () => {
    const plain = await tar([{ name: 'a', content: 'x'.repeat(5000) }, { name: 'b' }]);
    const skipped = Buffer.alloc(8 + 300);
    skipped.writeUInt32LE(0x184d2a5e, 0);
    skipped.writeUInt32LE(300, 4);
    const empty = zstdCompressSync(Buffer.alloc(0));
    const params = { [constants.ZSTD_c_checksumFlag]: 1 };
    const frames = [0, 1, 700, 700, 4000, plain.length].flatMap((from, at, all) => [
      zstdCompressSync(plain.subarray(from, all[at + 1]), at % 2 === 0 ? { params } : {}),
      ...(at === 2 ? [skipped, empty] : []),
    ]);
    const digest = await unpack(plain);
    expect(await unpack(Buffer.concat([skipped, ...frames, skipped]))).toBe(digest);
    await expect(unpack(Buffer.concat([...frames, Buffer.alloc(20, 'x')]))).rejects.toThrow(
      'there is no zstd frame where one should begin',
    );
    await expect(unpack(Buffer.concat(frames.slice(0, 4)))).rejects.toThrow('ends early');
  });

  test('keeps modes, times, set-user-ID bits and, as root, owners', async () => {
    await unpack([
      { name: 'bin/', type: 'directory', mode: 0o750, mtime: new Date(1e9) },
      { name: 'bin/su', mode: 0o4755, uid: 12, gid: 34, content: 'x', mtime: new Date(2e9) },
      { name: 'bin/sh', type: 'symlink', linkname: 'su', uid: 56, gid: 78 },
    ]);
    const [folder, file, link] = [
      statSync(join(root, 'bin')),
      statSync(join(root, 'bin/su')),
      lstatSync(join(root, 'bin/sh')),
    ];
    expect([folder.mode & 0o7777, file.mode & 0o7777]).toEqual([isRoot ? 0o750 : 0o750 | 0o700, 0o4755]);
    expect([folder.mtimeMs, file.mtimeMs]).toEqual([1e9, 2e9]);
    if (isRoot) expect([file.uid, file.gid, link.uid, link.gid]).toEqual([12, 34, 56, 78]);
  });

  test('removes files of layers below by whiteouts, which do not stay themselves', async () => {
    await unpack([
      { name: 'a/b', content: '1' },
      { name: 'a/c', content: '2' },
      { name: 'd', content: '3' },
    ]);
    await unpack([{ name: 'a/.wh.b' }, { name: '.wh.d' }]);
    expect(readdirSync(root)).toEqual(['a']);
    expect(readdirSync(join(root, 'a'))).toEqual(['c']);
  });

  test('hides a folder of layers below by an opaque one, wherever its mark stands among its own files', async () => {
    await unpack([
      { name: 'a/old', content: '1' },
      { name: 'a/deep/old', content: '2' },
    ]);
    await unpack([
      { name: 'a/new', content: '3' },
      { name: 'a/.wh..wh..opq' },
      { name: 'a/deep/new', content: '4' },
    ]);
    expect(readdirSync(join(root, 'a')).sort()).toEqual(['deep', 'new']);
    expect(readdirSync(join(root, 'a/deep'))).toEqual(['new']);
  });

  test('replaces a file by a folder, a folder by a file, and a link by a folder', async () => {
    await unpack([
      { name: 'a', content: '1' },
      { name: 'b/c', content: '2' },
      { name: 'l', type: 'symlink', linkname: 'b' },
    ]);
    await unpack([
      { name: 'a/x', content: '3' },
      { name: 'b', content: '4' },
      { name: 'l/', type: 'directory' },
    ]);
    expect([text('a/x'), text('b')]).toEqual(['3', '4']);
    expect(lstatSync(join(root, 'l')).isDirectory()).toBe(true);
  });

  test('has hard links of one file, FIFOs, and no devices', async () => {
    await unpack([
      { name: 'a', content: '1' },
      { name: 'b', type: 'link', linkname: '/a' },
      { name: 'f', type: 'fifo' },
      { name: 'd', type: 'character-device', devmajor: 1, devminor: 3 },
      { name: 'e', type: 'block-device', devmajor: 7, devminor: 0 },
    ]);
    expect(statSync(join(root, 'a')).ino).toBe(statSync(join(root, 'b')).ino);
    expect(lstatSync(join(root, 'f')).isFIFO()).toBe(true);
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'f']);
  });

  test('writes through its links within the image only', async () => {
    await unpack([
      { name: 'usr/lib/', type: 'directory' },
      { name: 'lib', type: 'symlink', linkname: '/usr/lib' },
      { name: 'lib/x.so', content: 'x' },
    ]);
    expect(text('usr/lib/x.so')).toBe('x');
    expect(readlinkSync(join(root, 'lib'))).toBe('/usr/lib');
  });
});

describe('a sparse file', () => {
  /** Makes an archive with GNU tar of a file with holes, of one that is only a hole, and of one without. */
  function sparseTar(...format: readonly string[]): Buffer {
    const source = join(dir, 'source');
    mkdirSync(source);
    for (const [name, size, runs] of [
      ['holes', 3_000_000, [0, 1_000_000, 1_500_000, 2_999_000]],
      ['many', 60 * 70_000, Array.from({ length: 60 }, (_, at) => at * 70_000 + 8192)],
      ['empty', 5_000_000, []],
      ['whole', 10_000, [0]],
    ] as const) {
      const fd = openSync(join(source, name), 'w');
      for (const at of runs) writeSync(fd, Buffer.alloc(1000, `${name}-${at} `), 0, 1000, at);
      ftruncateSync(fd, size);
      closeSync(fd);
    }
    const names = ['holes', 'many', 'empty', 'whole'];
    return execFileSync('tar', ['-cS', ...format, '-C', source, ...names], { maxBuffer: 2 ** 26 });
  }

  test.each([
    ["GNU's own format", ['--format=gnu']],
    ['pax 0.0', ['--format=pax', '--sparse-version=0.0']],
    ['pax 0.1', ['--format=pax', '--sparse-version=0.1']],
    ['pax 1.0', ['--format=pax', '--sparse-version=1.0']],
  ])('of %s has its content and its holes, under its own name', async (_, format) => {
    const archive = sparseTar(...format);
    expect(archive.length).toBeLessThan(1_500_000);
    const tally = { bytes: 0, entries: 0 };
    await unpack(archive, defaultLimits, tally);
    expect(readdirSync(root).sort()).toEqual(['empty', 'holes', 'many', 'whole']);
    for (const name of readdirSync(root)) {
      const [is, was] = [join(root, name), join(dir, 'source', name)];
      expect(readFileSync(is).equals(readFileSync(was)), name).toBe(true);
      expect(statSync(is).blocks, name).toBeLessThanOrEqual(statSync(was).blocks + 8);
    }
    expect(tally.bytes).toBeLessThan(1_500_000);
    rmSync(join(dir, 'source'), { recursive: true });
  });
});

describe('what is no file of an image is refused:', () => {
  test.each([
    ['a part of a volume', 'M', 'which is of a kind that no file system has'],
    ['an unknown kind', 'Q', 'which is of a kind that no file system has'],
    ['a sparse file of an unknown format', 'S', '"odd" is a sparse file in no format of GNU\'s'],
  ])('%s', async (_, type, message) => {
    const archive = await tar([{ name: 'odd', content: 'x' }]);
    const before = archive[156] ?? 0;
    archive.write(type, 156, 'latin1');
    const sum = Number.parseInt(archive.toString('latin1', 148, 154), 8) + type.charCodeAt(0) - before;
    archive.write(sum.toString(8).padStart(6, '0'), 148, 'latin1');
    await expect(unpack(archive)).rejects.toThrow(message);
  });

  test('a root that is no directory', async () => {
    await expect(unpack([{ name: './', type: 'symlink', linkname: 'x' }])).rejects.toThrow(
      'the layer holds "./", which is no directory',
    );
  });

  test('but the label of an archive is no file', async () => {
    writeFileSync(join(dir, 'a'), 'x');
    const archive = execFileSync('tar', ['-c', '--label=layers', '-C', dir, 'a']);
    rmSync(join(dir, 'a'));
    await unpack(archive);
    expect(readdirSync(root)).toEqual(['a']);
  });
});

describe('nothing is written outside the root by', () => {
  test.each([['../outside/x'], ['a/../../outside/x'], ['/../outside/x'], ['..']])(
    'an entry %s',
    async (name) => {
      await expect(unpack([{ name, content: 'x' }])).rejects.toThrow('which leads out of the image');
      untouched();
    },
  );

  test('an absolute entry, which is below the root', async () => {
    await unpack([{ name: `${outside}/x`, content: 'x' }]);
    expect(text(`${outside}/x`)).toBe('x');
    untouched();
  });

  test.each([
    ['absolute', () => outside],
    ['relative', () => '../outside'],
  ])('an entry behind an %s link', async (_, target) => {
    await unpack([
      { name: 'out', type: 'symlink', linkname: target() },
      { name: 'out/secret', content: 'changed' },
      { name: 'out/new/file', content: 'new' },
    ]);
    untouched();
  });

  test('a file in place of a link that leads out', async () => {
    await unpack([{ name: 'out', type: 'symlink', linkname: join(outside, 'secret') }]);
    await unpack([{ name: 'out', content: 'own' }]);
    expect(text('out')).toBe('own');
    untouched();
  });

  test.each([['../outside/secret'], ['a/../../outside/secret']])('a hard link to %s', async (linkname) => {
    await expect(unpack([{ name: 'a', type: 'link', linkname }])).rejects.toThrow(
      'which leads out of the image',
    );
    untouched();
  });

  test('a hard link behind a link that leads out', async () => {
    symlinkSync(outside, join(root, 'out'));
    await expect(unpack([{ name: 'a', type: 'link', linkname: 'out/secret' }])).rejects.toThrow(
      'a link to "out/secret", where there is no file',
    );
    expect(existsSync(join(root, 'a'))).toBe(false);
  });

  /** Root's own modes and owners of what is outside, which no layer may change. */
  const outsideNow = (): string => {
    const of = (path: string): string => {
      const { mode, uid, gid, mtimeMs } = statSync(path);
      return [mode.toString(8), uid, gid, mtimeMs].join(' ');
    };
    return [outside, join(outside, 'inner'), join(outside, 'secret')].map(of).join('; ');
  };
  const folder = (name: string): Entry => ({ name, type: 'directory', mode: 0o777, uid: 12, gid: 34 });

  test.each<[string, (target: string) => readonly (readonly Entry[])[]]>([
    [
      'the parent of a folder by a link',
      (linkname) => [[folder('a/'), folder('a/inner/'), { name: 'a', type: 'symlink', linkname }]],
    ],
    ['a folder by a link', (linkname) => [[folder('a/'), { name: 'a', type: 'symlink', linkname }]]],
    [
      'the parent of a folder of a layer below by a link',
      (linkname) => [
        [folder('a/'), folder('a/inner/')],
        [folder('a/inner/'), { name: 'a', type: 'symlink', linkname }],
      ],
    ],
    [
      'the parent of a folder, far down, by a whiteout and a link',
      (linkname) => [[folder('x/a/inner/'), { name: 'x/.wh.a' }, { name: 'x/a', type: 'symlink', linkname }]],
    ],
    [
      'a folder by a hard link of a link',
      (linkname) => [
        [
          { name: 'l', type: 'symlink', linkname },
          folder('a/'),
          folder('a/inner/'),
          { name: 'a', type: 'link', linkname: 'l' },
        ],
      ],
    ],
  ])('modes, owners and times of a folder that are set after replacing %s', async (_, layersOf) => {
    mkdirSync(join(outside, 'inner'), { mode: 0o700 });
    for (const target of [outside, '../outside']) {
      const before = outsideNow();
      for (const layer of layersOf(target)) await unpack(layer);
      expect(outsideNow()).toBe(before);
      rmSync(root, { recursive: true });
      mkdirSync(root);
    }
  });

  test('a file, a link or a FIFO in a folder that was replaced by a link', async () => {
    mkdirSync(join(outside, 'inner'));
    const before = outsideNow();
    await unpack([
      folder('a/'),
      { name: 'a/first', content: '1' },
      { name: 'a', type: 'symlink', linkname: '../outside' },
      { name: 'a/second', content: '2' },
      { name: 'a/fifo', type: 'fifo' },
      { name: 'a/link', type: 'symlink', linkname: 'x' },
      { name: 'a/hard', type: 'link', linkname: 'a/second' },
    ]);
    expect(outsideNow()).toBe(before);
    expect(readdirSync(outside).sort()).toEqual(['inner', 'secret']);
    expect(readdirSync(join(root, 'outside')).sort()).toEqual(['fifo', 'hard', 'link', 'second']);
  });

  test('a file in place of a folder, and what was to come below it', async () => {
    await unpack([folder('a/'), folder('a/b/'), { name: 'a', content: 'x' }]);
    expect(text('a')).toBe('x');
    await unpack([{ name: 'a/b/c', content: 'y' }]);
    expect(text('a/b/c')).toBe('y');
  });

  test('a hard link to a link, which is not followed', async () => {
    await unpack([
      { name: 'l', type: 'symlink', linkname: join(outside, 'secret') },
      { name: 'h', type: 'link', linkname: 'l' },
      { name: 'h', content: 'own' },
    ]);
    expect(text('h')).toBe('own');
    expect(readlinkSync(join(root, 'l'))).toBe(join(outside, 'secret'));
    untouched();
  });

  test('a device in place of a link that leads out', async () => {
    await unpack([{ name: 'd', type: 'symlink', linkname: join(outside, 'secret') }]);
    await unpack([
      { name: 'd', type: 'block-device', mode: 0o777, uid: 12, gid: 34, devmajor: 7, devminor: 0 },
    ]);
    expect(readdirSync(root)).toEqual([]);
    untouched();
  });

  test('a whiteout of the parent folder', async () => {
    for (const name of ['.wh...', '.wh..', '.wh.', 'a/.wh...'])
      await expect(unpack([{ name }]), name).rejects.toThrow('which removes no file');
    untouched();
  });

  test('a whiteout or an opaque folder behind a link that leads out', async () => {
    await unpack([
      { name: 'out', type: 'symlink', linkname: '../outside' },
      { name: 'out/.wh.secret' },
      { name: 'out/.wh..wh..opq' },
    ]);
    untouched();
  });

  test('a circle of links', async () => {
    const circle: readonly Entry[] = [
      { name: 'a', type: 'symlink', linkname: 'b' },
      { name: 'b', type: 'symlink', linkname: 'a' },
      { name: 'a/x', content: 'x' },
    ];
    await expect(unpack(circle)).rejects.toThrow('too many levels of symbolic links');
  });
});

describe('limits', () => {
  test('hold for the bytes of all layers, before they are written', async () => {
    const tally = { bytes: 0, entries: 0 };
    const limits = { maxBytes: 10, maxEntries: 100 };
    await unpack([{ name: 'a', content: '123456' }], limits, tally);
    await expect(unpack([{ name: 'b', content: '12345' }], limits, tally)).rejects.toThrow(
      'the image unpacks to more than 10 bytes (at "b")',
    );
    expect(existsSync(join(root, 'b'))).toBe(false);
  });

  test('hold for the number of entries', async () => {
    const many = Array.from({ length: 4 }, (_, at): Entry => ({ name: `d${at}/`, type: 'directory' }));
    await expect(unpack(many, { maxBytes: 1000, maxEntries: 3 })).rejects.toMatchObject({
      code: 'resource_exhausted',
      message: 'the image has more than 3 files (at "d3/")',
    });
  });

  test('are not met by what is cut or is no archive', async () => {
    const whole = await tar([{ name: 'a', content: 'x'.repeat(5000) }]);
    await expect(unpack(whole.subarray(0, 1500))).rejects.toThrow('the layer cannot be unpacked');
    await expect(unpack(gzipSync(whole).subarray(0, 40))).rejects.toThrow('the layer cannot be unpacked');
    await expect(unpack(Buffer.alloc(2048, 'no archive '))).rejects.toThrow('the layer cannot be unpacked');
  });
});

test('folders without permissions can be written to while they are unpacked', async () => {
  await unpack([
    { name: 'a/', type: 'directory', mode: 0o555 },
    { name: 'a/b', content: 'x', mode: 0o444 },
  ]);
  expect(text('a/b')).toBe('x');
  chmodSync(join(root, 'a'), 0o755);
});
