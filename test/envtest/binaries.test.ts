import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeEnvtestAssets } from '../../src/app/envtest-assets.ts';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { namespaceResource } from '../../src/api/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import { TestEnvironment } from '../../src/envtest/index.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-envtest-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

test('runs on the programs of KUBEBUILDER_ASSETS, here the launchers', async () => {
  const program = new URL('../../bin/podtender.mjs', import.meta.url).pathname;
  writeEnvtestAssets({ dir, node: process.execPath, program, version: '1' });
  const env = new TestEnvironment({ env: { KUBEBUILDER_ASSETS: dir } });
  const connection = await env.start();
  try {
    const jane = createApiClient(await env.addUser({ name: 'jane' }), { clock: systemClock });
    await expect(jane.list(namespaceResource)).rejects.toMatchObject({ status: 403 });
    await jane.close();
    const client = createApiClient(connection, { clock: systemClock });
    expect((await client.list(namespaceResource)).items).toHaveLength(4);
    await client.close();
    expect(env.audit).toContainEqual(
      expect.objectContaining({
        verb: 'list',
        user: expect.objectContaining({ username: 'jane' }) as unknown,
      }),
    );
  } finally {
    await env.stop();
  }
});

test('a missing or failing program is named, with what it printed', async () => {
  const env = new TestEnvironment({ binaries: dir });
  await expect(env.start()).rejects.toThrow(`${join(dir, 'etcd')} does not exist`);
  writeFileSync(join(dir, 'etcd'), '#!/bin/sh\necho broken >&2\nexit 3\n', { mode: 0o755 });
  await expect(env.start()).rejects.toThrow('etcd: it ended with 3: broken');
});

test('KUBEBUILDER_CONTROLPLANE_START_TIMEOUT, or the option, limits how long a program may take', async () => {
  writeFileSync(join(dir, 'etcd'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  const name = 'KUBEBUILDER_CONTROLPLANE_START_TIMEOUT';
  const start = (limit: string): Promise<unknown> =>
    new TestEnvironment({ env: { KUBEBUILDER_ASSETS: dir, [name]: limit } }).start();
  await expect(start('200ms')).rejects.toThrow(
    `etcd: it is not ready after 0.2 s (${name} or startTimeoutMs`,
  );
  await expect(start('soon')).rejects.toThrow(`${name} is not a positive duration such as 60s: soon`);
  await expect(start('-1s')).rejects.toThrow(`${name} is not a positive duration`);
  const env = new TestEnvironment({ binaries: dir, startTimeoutMs: 100, env: { [name]: '1h' } });
  await expect(env.start()).rejects.toThrow('it is not ready after 0.1 s');
});
