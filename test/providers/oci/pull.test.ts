import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { pullInto } from '../../../src/providers/oci/pull.ts';
import { RegistryTransport } from '../../../src/providers/oci/registry-transport.ts';
import { ImageStore } from '../../../src/providers/oci/store.ts';
import { busyboxImage } from '../../support/images.ts';
import { startRegistry, type Registry } from '../../support/registry.ts';

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
