import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { conformanceImage } from '../../src/app/conformance-image.ts';
import { systemClock } from '../../src/base/clock.ts';
import { importImages } from '../../src/providers/oci/index.ts';
import { openStore } from '../../src/providers/oci/oci-runtime.ts';

test("without an archive, the image holds the machine's busybox with its applets", async () => {
  const dir = mkdtempSync(join(tmpdir(), 'podtender-conformance-image-'));
  try {
    const store = openStore({ dataDir: dir }, { clock: systemClock, uid: process.getuid?.() ?? 0 });
    const { name, use } = await conformanceImage();
    const [image] = await use((path) => importImages(store, path, { arch: process.arch, name }));
    expect(store.find(name)?.id).toBe(image?.id);
    const bin = readdirSync(join(store.rootfs(image?.id ?? ''), 'bin'));
    expect(bin).toEqual(expect.arrayContaining(['busybox', 'sh', 'sleep', 'cat', 'true']));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('an archive that is not there is named', async () => {
  await expect(conformanceImage('/nowhere/box.tar')).rejects.toThrow(
    '--image /nowhere/box.tar: there is no such archive',
  );
});
