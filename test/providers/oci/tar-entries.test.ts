import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readTar } from '../../../src/providers/oci/tar-entries.ts';
import type { TarEntry } from '../../../src/providers/oci/tar-header.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-tar-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

interface Block {
  readonly type: string;
  readonly name?: string;
  readonly content?: string | Buffer;
  /** In place of the size of the content. */
  readonly size?: Buffer | string;
  readonly uid?: string;
  readonly magic?: string;
  readonly prefix?: string;
}

/** A header block and its content, as a writer of archives makes them; all can be wrong but the checksum. */
function block({
  type,
  name = 'a',
  content = '',
  size,
  uid,
  magic = 'ustar\u000000',
  prefix = '',
}: Block): Buffer {
  const body = Buffer.from(content);
  const head = Buffer.alloc(512);
  head.write(name, 0, 100);
  head.write('0000644\0', 100);
  head.write(uid ?? '0000014\0', 108);
  head.write('0000042\0', 116);
  if (Buffer.isBuffer(size)) size.copy(head, 124);
  else head.write(size ?? `${body.length.toString(8).padStart(11, '0')}\0`, 124);
  head.write('00000000010\0', 136);
  head.write(' '.repeat(8), 148);
  head.write(type, 156);
  head.write(magic, 257);
  head.write(prefix, 345, 155);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([head, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

const end = Buffer.alloc(1024);
const record = (name: string, value: string): string => {
  const rest = ` ${name}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes;
  while (length < bytes + String(length).length) length++;
  return `${length}${rest}`;
};

const version = (major: string, minor: string): string =>
  record('GNU.sparse.major', major) + record('GNU.sparse.minor', minor);
/** The header of a sparse file in pax version 0.1. */
const sparse = (map: string, size: string): Buffer =>
  block({
    type: 'x',
    content: record('GNU.sparse.map', map) + record('GNU.sparse.size', size) + record('GNU.sparse.name', 's'),
  });

interface Read {
  readonly entries: readonly (TarEntry & { readonly content: string })[];
  readonly bytes: number;
}

async function read(archive: Buffer): Promise<Read> {
  const path = join(dir, 'archive');
  writeFileSync(path, archive);
  const entries: (TarEntry & { readonly content: string })[] = [];
  let bytes = 0;
  const onBytes = (part: Buffer): void => void (bytes += part.length);
  await readTar(path, { what: 'the archive', onBytes }, async (entry, content) => {
    entries.push({ ...entry, content: entry.name === 'skipped' ? '' : await text(Readable.from(content)) });
  });
  return { entries, bytes };
}

describe('an archive', () => {
  test('has the entries that another program wrote, whose content need not be read', async () => {
    const archive = pack();
    archive.entry({ name: 'dir/', type: 'directory', mode: 0o750 });
    archive.entry({ name: 'skipped' }, 'x'.repeat(2000));
    archive.entry({ name: `${'long/'.repeat(50)}ü`, uid: 7, mtime: new Date(5000) }, 'y'.repeat(700));
    archive.entry({ name: 'l', type: 'symlink', linkname: 'dir' });
    archive.finalize();
    const { entries } = await read(await buffer(archive));
    expect(entries.map(({ name, kind, content }) => [name, kind, content.length])).toEqual([
      ['dir/', 'directory', 0],
      ['skipped', 'file', 0],
      [`${'long/'.repeat(50)}ü`, 'file', 700],
      ['l', 'symlink', 0],
    ]);
    expect(entries[2]).toMatchObject({ uid: 7, mtime: 5, size: 700 });
    expect([entries[0]?.mode, entries[3]?.linkname]).toEqual([0o750, 'dir']);
  });

  test('has long names of GNU, names with a prefix, folders of v7, and large numbers', async () => {
    const large = Buffer.from([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
    const { entries } = await read(
      Buffer.concat([
        block({ type: 'L', content: `${'n'.repeat(300)}\0` }),
        block({ type: 'K', content: 'target\0' }),
        block({ type: '2' }),
        block({ type: '0', name: 'file', prefix: 'folder' }),
        block({ type: '\0', name: 'old/', magic: '' }),
        block({ type: '0', name: 'large', content: 'abc', size: large }),
        end,
      ]),
    );
    expect(entries.map(({ name, kind, linkname, content }) => [name, kind, linkname, content])).toEqual([
      ['n'.repeat(300), 'symlink', 'target', ''],
      ['folder/file', 'file', '', ''],
      ['old/', 'directory', '', ''],
      ['large', 'file', '', 'abc'],
    ]);
  });

  test('has what pax headers say, of the next entry or of all', async () => {
    const { entries } = await read(
      Buffer.concat([
        block({ type: 'g', content: record('uid', '5000000') }),
        block({ type: 'x', content: record('path', 'ü') + record('size', '2') + record('mtime', '1.5') }),
        block({ type: '0', content: 'xy', size: '00000000000\0' }),
        block({ type: '0', name: 'b' }),
        end,
      ]),
    );
    expect(entries).toMatchObject([
      { name: 'ü', size: 2, content: 'xy', uid: 5_000_000, gid: 0o42, mtime: 1.5 },
      { name: 'b', size: 0, uid: 5_000_000, mtime: 8 },
    ]);
  });

  test('ends at its mark, and what follows is counted but not read', async () => {
    const archive = Buffer.concat([block({ type: '0' }), end, block({ type: '0', name: 'late' }), end]);
    const { entries, bytes } = await read(archive);
    expect(entries.map(({ name }) => name)).toEqual(['a']);
    expect(bytes).toBe(archive.length);
  });

  test('has no content where a kind has none, whatever its size says', async () => {
    const archive = Buffer.concat([
      block({ type: '1', size: '00000001000\0' }),
      block({ type: '0', name: 'b' }),
      end,
    ]);
    expect((await read(archive)).entries.map(({ name, size }) => [name, size])).toEqual([
      ['a', 0],
      ['b', 0],
    ]);
  });
});

describe('refused is', () => {
  test.each<[string, Buffer, string]>([
    ['a wrong checksum', Buffer.alloc(1024, 'x'), 'number'],
    [
      'an archive that ends in a content',
      block({ type: '0', content: 'abc' }).subarray(0, 514),
      'ends early',
    ],
    ['an archive that ends in a header', block({ type: '0' }).subarray(0, 100), 'ends early'],
    ['a pax header that is no record', block({ type: 'x', content: 'no record' }), 'a pax header is damaged'],
    ['a pax record that is longer than its header', block({ type: 'x', content: '99 a=b\n' }), 'damaged'],
    ['a pax size that is no number', block({ type: 'x', content: record('size', 'many') }), 'no number'],
    [
      'an owner below zero',
      Buffer.concat([block({ type: 'x', content: record('uid', '-1') }), block({ type: '0' })]),
      'the owner -1',
    ],
    [
      'a sparse file whose runs overlap',
      Buffer.concat([sparse('0,4,2,4', '8'), block({ type: '0', content: 'x'.repeat(8) })]),
      '"s": its runs of a sparse file overlap',
    ],
    [
      'a sparse file with content beyond its end',
      Buffer.concat([sparse('0,4,20,4', '8'), block({ type: '0', content: 'x'.repeat(8) })]),
      '"s": it is a sparse file of 8 bytes with content at 24',
    ],
    [
      'a sparse file with another content',
      Buffer.concat([sparse('0,4', '8'), block({ type: '0', content: 'x'.repeat(8) })]),
      '"s": it is a sparse file whose runs have 4 bytes, its content 8',
    ],
    [
      'a sparse file that is a link',
      Buffer.concat([sparse('0,4', '8'), block({ type: '2' })]),
      '"s" is a sparse file and a symlink',
    ],
    ['a map that is no list of pairs', sparse('0,4,8', '8'), 'an offset without a size'],
    ['a map of other words', sparse('0,four', '8'), 'a number of a sparse file is none: "four"'],
    [
      'a version of sparse files that is unknown',
      block({ type: 'x', content: version('2', '1') }),
      'the unknown version 2.1',
    ],
    ['a size below zero', block({ type: '0', size: Buffer.alloc(12, 0xff) }), 'the size -1'],
    ['a size that is no number', block({ type: '0', size: '12x45670000\0' }), 'the size in a header'],
  ])('%s', async (_, archive, message) => {
    const failed = read(archive);
    await expect(failed).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(failed).rejects.toThrow(/^the archive cannot be unpacked: /);
    await expect(failed).rejects.toThrow(message);
  });

  test.each<[string, Buffer, string]>([
    [
      'an extended header beyond its limit',
      block({ type: 'x', size: '00010000000\0' }),
      'the archive has an extended header of 2097152 bytes, at most 1048576 are read',
    ],
    [
      'a name beyond its limit',
      Buffer.concat([block({ type: 'L', content: 'n'.repeat(5000) }), block({ type: '0' })]),
      'the archive has a name of more than 4096 bytes: "nnnn',
    ],
    [
      'a link target beyond its limit',
      Buffer.concat([
        block({ type: 'x', content: record('linkpath', 'n'.repeat(5000)) }),
        block({ type: '2' }),
      ]),
      'the archive has a name of more than 4096 bytes',
    ],
    [
      'extended headers without an end',
      Buffer.concat(Array.from({ length: 20 }, () => block({ type: 'g', content: record('a', 'b') }))),
      'the archive has more than 16 extended headers in a row',
    ],
    [
      'a map of a sparse file without an end',
      Buffer.concat([
        block({ type: 'x', content: version('1', '0') + record('GNU.sparse.realsize', '9') }),
        block({ type: '0', content: `999999\n${'0\n'.repeat(600_000)}` }),
      ]),
      'the archive has a sparse file whose map has more than 1048576 bytes',
    ],
    [
      'zeros without an end, before they are decompressed',
      gzipSync(Buffer.concat([end, Buffer.alloc(64 * 2 ** 20)])),
      'the archive has more than 16777216 bytes after its end',
    ],
  ])('%s', async (_, archive, message) => {
    const failed = read(archive);
    await expect(failed).rejects.toMatchObject({ code: 'resource_exhausted' });
    await expect(failed).rejects.toThrow(message);
  });
});

test('a fault of what is done with an entry, and an abort, end the reading as they are', async () => {
  const path = join(dir, 'archive');
  writeFileSync(path, Buffer.concat([block({ type: '0', content: 'abc' }), end]));
  const own = Object.assign(new Error('no space left'), { syscall: 'write' });
  await expect(readTar(path, { what: 'x' }, () => Promise.reject(own))).rejects.toBe(own);
  const signal = AbortSignal.abort(new Error('no longer wanted'));
  await expect(readTar(path, { what: 'x', signal }, () => undefined)).rejects.toThrow('no longer wanted');
});
