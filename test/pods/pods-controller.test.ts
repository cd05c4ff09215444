import { Subject } from 'rxjs';
import { expect, test } from 'vitest';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { PodConfig, SourcesReady } from '../../src/config/pod-config.ts';
import type { SourceSnapshot } from '../../src/config/pod-update.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import { PodsController } from '../../src/pods/pods-controller.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { LocalApi } from '../../src/conformance/node/local-api.ts';

const node: Node = {
  metadata: { name: 'n', uid: 'node-uid', labels: { 'kubernetes.io/os': 'linux' } },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
};

test('whether a pod may run, and whether what it used is free again, through its life', async () => {
  const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
  const api = new LocalApi(clock, systemRandom);
  const memory = new MemoryProvider({ clock });
  const source = new Subject<SourceSnapshot>();
  const config = new PodConfig({ clock, recorder: { event: () => undefined }, logger: silentLogger });
  config.addSource('api', source);
  api.create(nodeResource, node, '');
  const controller = new PodsController({
    clock,
    nodeName: 'n',
    nodeIP: '192.0.2.1',
    configUpdates: config.updates,
    sourcesReady: new SourcesReady(config),
    nodeGetter: { getNode: () => node },
    kubeClient: api.client(),
    framework: { syncFrequency: 30_000 },
    registry: { default: { repository: 'r.example/team' } },
  });
  expect(controller.resyncMs).toBe(30_000);
  controller.registerProvider(memory);
  const ending = new AbortController();
  const running = controller.run(ending.signal);
  const announce = async (): Promise<void> => {
    source.next({ source: 'api', pods: api.pods() });
    await clock.advance(3000);
  };
  await settle();
  await announce();
  const container = { name: 'c', image: 'app:1' };
  const manifest: Pod = {
    metadata: { name: 'a', namespace: 'default' },
    spec: { nodeName: 'n', enableServiceLinks: false, containers: [container] },
  };
  const created = api.create(podResource, { ...manifest }, 'default') as Pod;
  await announce();
  const seen = (): Pod => api.pods()[0] ?? {};
  expect(seen().status?.containerStatuses?.[0]?.image, 'from the default repository').toBe(
    'r.example/team/app:1',
  );
  expect(controller.podCouldHaveRunningContainers(created)).toBe(true);
  expect(controller.podResourcesAreReclaimed(created, seen().status ?? {})).toBe(false);

  const whileRunning = seen().status ?? {};
  memory.failNext('killPod', new Error('away'));
  api.delete(podResource, { namespace: 'default', name: 'a' }, { gracePeriodSeconds: 1 });
  await announce();
  expect(controller.podCouldHaveRunningContainers(created), 'it is not stopped yet').toBe(true);
  expect(controller.podResourcesAreReclaimed(created, {})).toBe(false);
  await clock.advance(20_000);
  expect(api.pods()).toEqual([]);
  expect(controller.podCouldHaveRunningContainers(created)).toBe(false);
  expect(
    controller.podResourcesAreReclaimed(created, whileRunning),
    'the status shows a running container',
  ).toBe(false);
  expect(controller.podResourcesAreReclaimed(created, {})).toBe(true);
  ending.abort();
  config.stop();
  await running;
});
