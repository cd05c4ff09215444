import { statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { runtimeFileSystems } from '../../../src/containers/stats/runtime-file-systems.ts';
import type { ImageFsInfoResponse } from '../../../src/provider/cri-messages.ts';

const service = (response: ImageFsInfoResponse): Parameters<typeof runtimeFileSystems>[0] => ({
  imageFsInfo: async () => response,
});

test('the runtime says where, the kernel how full', async () => {
  const usage = { fsId: { mountpoint: tmpdir() }, usedBytes: { value: 7 }, inodesUsed: { value: 3 } };
  const found = await runtimeFileSystems(service({ imageFilesystems: [usage] }));
  const { bsize, blocks, files } = statfsSync(tmpdir());
  expect(found.images).toMatchObject({
    mountpoint: tmpdir(),
    device: statSync(tmpdir()).dev,
    capacityBytes: blocks * bsize,
    inodes: files,
    usedBytes: 7,
    inodesUsed: 3,
  });
  expect(found.containers).toBe(found.images);
});

test('containers may lie elsewhere', async () => {
  const at = (mountpoint: string): { fsId: { mountpoint: string } } => ({ fsId: { mountpoint } });
  const found = await runtimeFileSystems(
    service({ imageFilesystems: [at(tmpdir())], containerFilesystems: [at('/')] }),
  );
  expect([found.images.mountpoint, found.containers.mountpoint]).toEqual([tmpdir(), '/']);
});

test.for([
  [{}, 'does not say'],
  [{ imageFilesystems: [{}] }, 'does not say'],
  [
    { imageFilesystems: [{ fsId: { mountpoint: '/not/here' } }] },
    'statfs /not/here: no such file or directory',
  ],
] as const)('of %o nothing can be said', async ([response, message]) => {
  await expect(runtimeFileSystems(service(response))).rejects.toThrow(message);
});
