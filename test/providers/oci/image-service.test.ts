import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { AgentError } from '../../../src/base/errors.ts';
import { importImages } from '../../../src/providers/oci/archive.ts';
import { OciImageService } from '../../../src/providers/oci/image-service.ts';
import { ImageStore } from '../../../src/providers/oci/store.ts';
import { busyboxImage, layoutOf } from '../../support/images.ts';

const box = busyboxImage('localhost/box:1', { User: '1234:0' });
const users = new Set<string>();
let dir: string;
let store: ImageStore;

beforeEach(async () => {
  users.clear();
  dir = mkdtempSync(join(tmpdir(), 'podtender-images-'));
  store = new ImageStore({ dir, clock: systemClock, asRoot: false });
  writeFileSync(join(dir, 'box.tar'), layoutOf([box]));
  await importImages(store, join(dir, 'box.tar'), { arch: process.arch });
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const serviceThat = (fails: Error): OciImageService =>
  new OciImageService({ store, clock: systemClock, pull: () => Promise.reject(fails), inUse: () => users });

test('a failed pull has the error name RegistryUnavailable when the registry cannot be reached', async () => {
  const pull = (fails: Error): Promise<unknown> => serviceThat(fails).pullImage({ image: { image: 'x' } });
  await expect(pull(new AgentError('unavailable', 'r: 503'))).rejects.toThrow(
    /^RegistryUnavailable: r: 503$/,
  );
  await expect(pull(new AgentError('not_found', 'r: 404'))).rejects.toThrow(/^r: 404$/);
});

test('images have tags, digests, size and user; one that a container uses is not removed', async () => {
  const service = serviceThat(new Error('no pull'));
  expect((await service.listImages({})).images).toMatchObject([
    { id: box.configDigest, repoTags: ['localhost/box:1'], uid: { value: 1234 }, pinned: false },
  ]);
  const image = { image: box.configDigest };
  users.add(box.configDigest);
  await expect(service.removeImage({ image })).rejects.toMatchObject({ code: 'failed_precondition' });
  expect((await service.imageStatus({ image })).image?.id).toBe(box.configDigest);
  users.clear();
  await service.removeImage({ image });
  expect(await service.imageStatus({ image })).toEqual({});
  await service.removeImage({ image }); // nothing to remove is no failure, as in CRI
});

test('collection keeps what images and containers use, and what is young', async () => {
  const other = store.addDocument(Buffer.from('{}'));
  expect(await store.collect(() => users)).toBe(0);
  expect(store.hasBlob(other)).toBe(true);
  const late = new ImageStore({
    dir,
    clock: { sleep: () => Promise.resolve(), now: () => systemClock.now() + 2 * 3_600_000 },
    asRoot: false,
  });
  expect(await late.collect(() => users)).toBe(2);
  expect(late.hasBlob(other)).toBe(false);
  expect(late.list()).toHaveLength(1);
  expect(late.hasBlob(box.manifestDigest)).toBe(true);
});
