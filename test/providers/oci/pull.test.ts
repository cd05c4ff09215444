import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { pullInto } from '../../../src/providers/oci/pull.ts';
import { RegistryTransport } from '../../../src/providers/oci/registry-transport.ts';
import { ImageStore } from '../../../src/providers/oci/store.ts';
import { busyboxImage, indexOf, layeredImage, type TestImage, type TestLayer } from '../../support/images.ts';
import { startRegistry, type Registry } from '../../support/registry.ts';
import { tarOf } from '../../support/tar.ts';

let dir: string;
let registry: Registry;
let store: ImageStore;
const transport = new RegistryTransport();
const image = busyboxImage('x/box:1');
const pull: ReturnType<typeof pullInto> = (name, options) =>
  pullInto(store, { arch: process.arch, clock: systemClock, transport })(name, options);

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-pull-'));
  store = new ImageStore({ dir, clock: systemClock, asRoot: process.getuid?.() === 0 });
  registry = await startRegistry([image], { basicAuth: 'me:secret' });
});
afterEach(async () => {
  await transport.close();
  await registry.close();
  rmSync(dir, { recursive: true, force: true });
});
async function serve(...images: readonly TestImage[]): Promise<void> {
  await registry.close();
  registry = await startRegistry(images);
}
const auth = { username: 'me', password: 'secret' };

test('an image is pulled with credentials, found by tag, digest and id, and its layers are not pulled again', async () => {
  const name = `${registry.host}/box:1`;
  const pulled = await pull(name, { auth });
  expect(pulled.id).toBe(image.configDigest);
  for (const key of [name, `${registry.host}/box@${image.manifestDigest}`, pulled.id, pulled.id.slice(7, 20)])
    expect(store.find(key)?.id, key).toBe(image.configDigest);
  registry.requests.length = 0;
  await pull(name, { auth });
  expect(registry.requests.filter((path) => path.includes('/blobs/'))).toEqual([]);
});

test('without credentials, or for what is not there, the error says so and nothing is stored', async () => {
  await expect(pull(`${registry.host}/box:1`, {})).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect(pull(`${registry.host}/box:2`, { auth })).rejects.toMatchObject({ code: 'not_found' });
  expect(store.list()).toEqual([]);
});

test('what is there of a blob is pulled anew when it has other content', async () => {
  const layer = [...image.blobs].find(([, content]) => content.length > 100_000)?.[0] ?? '';
  const size = image.blobs.get(layer)?.length ?? 0;
  writeFileSync(store.partialPath(layer), Buffer.alloc(size));
  expect((await pull(`${registry.host}/box:1`, { auth })).id).toBe(image.configDigest);
});

const layer = (file: string, content = file): TestLayer => ({
  archive: tarOf([{ path: file, content: Buffer.from(content) }]),
});

test('an image has layers of all compressions, and all their files', async () => {
  const layers: readonly TestLayer[] = [
    { ...layer('a'), compression: 'gzip' },
    { ...layer('b'), compression: 'zstd' },
    layer('c'),
    { ...layer('a', 'later'), compression: 'zstd' },
  ];
  await serve(layeredImage('x/mixed:1', layers));
  const { id } = await pull(`${registry.host}/mixed:1`, {});
  const root = store.rootfs(id);
  expect(readdirSync(root).sort()).toEqual(['a', 'b', 'c']);
  expect(readFileSync(join(root, 'a'), 'utf8')).toBe('later');
});

describe('an index', () => {
  const of = (name: string): TestImage => layeredImage(`x/${name}:1`, [layer(name)]);
  const images = {
    'linux/arm64/v8': of('arm'),
    'windows/amd64': of('windows'),
    'linux/amd64': of('amd'),
    'linux/arm/v6': of('six'),
    'linux/arm/v7': of('seven'),
    'unknown/unknown': of('attestation'),
  };

  test.each([
    ['x64', 'linux/amd64'],
    ['arm64', 'linux/arm64/v8'],
    ['arm', 'linux/arm/v7'],
  ] as const)(
    'has the image for a machine of architecture %s, and nothing else of it is fetched',
    async (arch, platform) => {
      await serve(indexOf('x/many:1', images));
      const pulled = await pullInto(store, { arch, clock: systemClock, transport })(
        `${registry.host}/many:1`,
        {},
      );
      const own = images[platform];
      expect(pulled.id).toBe(own.configDigest);
      const fetched = registry.requests.map((line) => line.replace(/^.*\//, ''));
      expect(fetched.sort()).toEqual(['1', ...own.blobs.keys()].sort());
    },
  );

  test('without one for the machine is refused with those that there are', async () => {
    await serve(indexOf('x/many:1', images));
    const pulled = pullInto(store, { arch: 's390x', clock: systemClock, transport });
    await expect(pulled(`${registry.host}/many:1`, {})).rejects.toMatchObject({
      code: 'not_found',
      message: `${registry.host}/many:1: no match for platform linux/s390x; there are ${Object.keys(images).join(', ')}`,
    });
  });
});

test('three blobs of an image and six of all are fetched at a time', async () => {
  const many = (name: string): TestImage =>
    layeredImage(
      `x/${name}:1`,
      Array.from({ length: 8 }, (_, at) => layer(`${name}-${at}`)),
    );
  await serve(many('alone'), many('a'), many('b'), many('c'));
  registry.faults.push({ path: '/alone/blobs/', delayMs: 20, together: 3 });
  await pull(`${registry.host}/alone:1`, {});
  expect(registry.mostHeld()).toBe(3);
  registry.faults.push({ path: '/blobs/', delayMs: 20, together: 6 });
  const puller = pullInto(store, { arch: process.arch, clock: systemClock, transport });
  await Promise.all(['a', 'b', 'c'].map((name) => puller(`${registry.host}/${name}:1`, {})));
  expect(registry.mostHeld()).toBe(6);
});
