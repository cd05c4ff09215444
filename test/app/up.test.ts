import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionFromKubeconfig } from '../../src/api/kubeconfig/kube-client.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { podResource } from '../../src/api/resources.ts';
import { startUp } from '../../src/app/up.ts';
import type { Running } from '../../src/app/running.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { silentLogger as logger } from '../../src/base/logger.ts';
import type { Pod } from '../../src/kube/types.ts';

const dir = mkdtempSync(join(tmpdir(), 'up-'));
let running: Running;
let client: HttpApiClient;

beforeAll(async () => {
  const manifests = join(dir, 'manifests');
  mkdirSync(manifests);
  writeFileSync(
    join(manifests, 'web.yaml'),
    'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n',
  );
  running = await startUp(
    {
      dataDir: join(dir, 'data'),
      manifests,
      port: 0,
      provider: 'memory',
      nodeName: 'n',
      output: 'plain',
      leaveRunning: false,
      kubeletFlags: [],
    },
    { signal: new AbortController().signal, progress: () => undefined, load: (url) => import(url) },
  );
  client = createApiClient(await connectionFromKubeconfig(clock, join(dir, 'data/kubeconfig')), {
    clock,
    logger,
    qps: 0,
  });
  while ((await uidNow()) === undefined) await clock.sleep(50);
}, 30_000);

afterAll(async () => {
  await client.close();
  await running.close();
  rmSync(dir, { recursive: true, force: true });
});

const ref = { namespace: 'default', name: 'web-n' };

async function uidNow(): Promise<string | undefined> {
  const { items } = await client.list<Pod>(podResource, {
    namespace: 'default',
    fieldSelector: 'metadata.name=web-n',
  });
  return items[0]?.metadata?.uid;
}

test('kubectl delete of a static pod ends, however long it takes from its look at the pod to its watch', async () => {
  for (const ms of [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30]) {
    const uid = await uidNow();
    await client.delete(podResource, ref);
    // kubectl is done when it finds another pod, or none; else it watches, and waits for the pod of its list to go
    const found = await client.get<Pod>(podResource, ref).catch(() => undefined);
    if (found?.metadata?.uid === uid) {
      await clock.sleep(ms);
      expect([uid, undefined], `after ${ms} ms`).toContain(await uidNow());
    }
    while ([uid, undefined].includes(await uidNow())) await clock.sleep(20);
  }
}, 30_000);
