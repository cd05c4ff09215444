import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ArchiveLimits, importImages } from '../../../src/providers/oci/archive.ts';
import { ImageStore, type StoredImage } from '../../../src/providers/oci/store.ts';
import { busyboxImage, layoutOf } from '../../support/images.ts';

const box = busyboxImage('localhost/box:1');
const clock = { now: () => 0, sleep: () => Promise.resolve() };
let dir: string;
let store: ImageStore;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-archive-'));
  store = new ImageStore({ dir: join(dir, 'store'), clock, asRoot: false });
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function importOf(archive: Buffer, limits?: ArchiveLimits): Promise<readonly StoredImage[]> {
  const path = join(dir, 'box.tar');
  writeFileSync(path, archive);
  return importImages(store, path, { arch: process.arch, ...(limits && { limits }) });
}
const nothingLeft = (): void => {
  expect(store.list()).toEqual([]);
  expect(readdirSync(join(dir, 'store/partial'))).toEqual([]);
};

test('an archive beyond the limit of its entries is refused', async () => {
  const archive = layoutOf([box]);
  await expect(importOf(archive, { maxBytes: 1e9, maxEntries: 3 })).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: `${join(dir, 'box.tar')} has more than 3 entries`,
  });
  nothingLeft();
});

test('an archive beyond the limit of its bytes is refused before they are written', async () => {
  await expect(importOf(layoutOf([box]), { maxBytes: 1000, maxEntries: 100 })).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringMatching(/ has more than 1000 bytes of files \(at "blobs\/sha256\//) as unknown,
  });
  nothingLeft();
});

test('an entry that leads out of the archive is refused', async () => {
  for (const name of ['../out', 'a/../../../out']) {
    const archive = pack();
    archive.entry({ name }, 'x');
    archive.finalize();
    await expect(importOf(await buffer(archive))).rejects.toThrow('may not leave its directory');
  }
  expect(existsSync(join(dir, 'out'))).toBe(false);
  nothingLeft();
});

test('a link of the archive to a file outside is none of its files', async () => {
  writeFileSync(join(dir, 'index.json'), '{}');
  const archive = pack();
  archive.entry({ name: 'oci-layout' }, '{}');
  archive.entry({ name: 'index.json', type: 'symlink', linkname: join(dir, 'index.json') });
  archive.finalize();
  await expect(importOf(await buffer(archive))).rejects.toThrow('holds no images');
  nothingLeft();
});

test('links to one layer are files of the archive, as docker save has them', async () => {
  const [layer = Buffer.alloc(0)] = [...box.blobs.values()].sort((a, b) => b.length - a.length);
  const config = box.blobs.get(box.configDigest) ?? Buffer.alloc(0);
  const archive = pack();
  archive.entry({ name: 'one/layer.tar' }, layer);
  archive.entry({ name: 'two/layer.tar', type: 'symlink', linkname: '../one/layer.tar' });
  archive.entry({ name: 'config.json' }, config);
  archive.entry(
    { name: 'manifest.json' },
    JSON.stringify([{ Config: 'config.json', RepoTags: ['a:1'], Layers: ['two/layer.tar'] }]),
  );
  archive.finalize();
  const [image] = await importOf(await buffer(archive));
  expect(image?.tags).toEqual(['docker.io/library/a:1']);
});

test('indexes that are nested too deep are refused', async () => {
  const layout = join(dir, 'layout');
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  const put = (value: unknown): object => {
    const bytes = Buffer.from(JSON.stringify(value));
    const hex = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(layout, 'blobs/sha256', hex), bytes);
    return {
      mediaType: 'application/vnd.oci.image.index.v1+json',
      digest: `sha256:${hex}`,
      size: bytes.length,
    };
  };
  let inner: object = { mediaType: 'x', digest: `sha256:${'0'.repeat(64)}`, size: 1 };
  const imported = (): Promise<unknown> => {
    writeFileSync(join(layout, 'oci-layout'), '{}');
    writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [inner] }));
    return importImages(store, layout, { arch: process.arch });
  };
  for (let depth = 1; depth <= 3; depth++) inner = put({ schemaVersion: 2, manifests: [inner] });
  await expect(imported()).rejects.toThrow('lacks blob'); // the manifest in the innermost is looked for
  inner = put({ schemaVersion: 2, manifests: [inner] });
  await expect(imported()).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringContaining('indexes are nested more than 3 deep') as unknown,
  });
});
