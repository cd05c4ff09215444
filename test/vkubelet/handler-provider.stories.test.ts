import { afterEach, expect, test } from 'vitest';
import type { PodStatus } from '../../src/kube/types.ts';
import { permanent, throttled, unavailable } from '../../src/vkubelet/errors.ts';
import { type Bed, bedOf } from './support.ts';

/**
 * What a provider gets here that it does not get from virtual-kubelet; each test is the story of a report, by its number in virtual-kubelet's
 * tracker or that of a provider.
 */

let bed: Bed | undefined;
afterEach(async () => {
  await bed?.stop();
  bed = undefined;
});

const both = [{ notifies: true }, { notifies: false }];
const mainOf = (status: PodStatus | undefined) => status?.containerStatuses?.[0];
const second = 1000;

test.for(both)(
  'a pod is created, runs, and ends with the exit code that its provider tells (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    node.create('web');
    await node.clock.advance(2 * second);
    expect(node.pod('web')?.status).toMatchObject({
      phase: 'Running',
      podIP: '198.51.100.4',
      hostIP: '203.0.113.1',
    });
    expect(mainOf(node.pod('web')?.status)).toMatchObject({ ready: true, state: { running: {} } });
    expect(node.events).toContain('Normal ProviderCreateSuccess Create pod in provider successfully');
    node.delete('web');
    await node.clock.advance(20 * second);
    expect(node.pod('web')).toBeUndefined();
    expect(backend.pods.size).toBe(0);
    expect(backend.counts('createPod')).toBe(1);
    expect(backend.counts('deletePod')).toBe(1);
  },
);

// 867, 907: delete and create again under the same name; the late deletion took the new pod
test.for(both)(
  'a pod and its successor of the same name never mix (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    const first = node.create('web');
    await node.clock.advance(2 * second);
    backend.endsAtOnce = false;
    node.delete('web');
    await node.clock.advance(2 * second);
    node.delete('web', 0); // by force: the object is gone, the backend still stops the pod
    const next = node.create('web');
    await node.clock.advance(10 * second);
    expect(backend.pods.get('default/web')?.metadata?.uid).toBe(first);
    expect(node.pod('web')?.status?.phase).toBe('Pending');
    backend.pods.delete('default/web');
    await node.clock.advance(120 * second);
    expect(backend.pods.get('default/web')?.metadata?.uid).toBe(next);
    expect(node.pod('web')?.status?.phase).toBe('Running');
  },
);

// 690, 760, code 13: the object was deleted by a timer while the provider still ran the pod
test.for(both)(
  'a pod is deleted when its provider says that nothing runs, not by a timer (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    node.create('web');
    await node.clock.advance(2 * second);
    backend.endsAtOnce = false;
    node.delete('web', 5);
    await node.clock.advance(100 * second);
    expect(node.pod('web')?.metadata?.deletionTimestamp).toBeDefined();
    backend.end('default/web', 3);
    await node.clock.advance(1 * second);
    backend.endsAtOnce = true;
    await node.clock.advance(30 * second);
    expect(node.pod('web')).toBeUndefined();
  },
);

// 982, 983: grace of 300 s, the containers exit after one
test.for(both)(
  'a grace period ends early when the containers do (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    node.create('web', { terminationGracePeriodSeconds: 300 });
    await node.clock.advance(2 * second);
    backend.endsAtOnce = false;
    node.delete('web');
    await node.clock.advance(1 * second);
    backend.end('default/web', 0);
    backend.endsAtOnce = true;
    await node.clock.advance(10 * second);
    expect(node.pod('web')).toBeUndefined();
  },
);

// code 14: every pod that was deleted "Succeeded" with exit code 0
test('an end that was not told is unknown, and never exit code 0', async () => {
  bed = await bedOf(false);
  const { node, backend } = bed;
  const statuses: PodStatus[] = [];
  node.create('web');
  await node.clock.advance(2 * second);
  node.api.onPodChange(({ entry }) => void statuses.push((entry.object as { status: PodStatus }).status));
  node.delete('web');
  await node.clock.advance(20 * second);
  expect(node.pod('web')).toBeUndefined();
  expect(backend.pods.size).toBe(0);
  expect(mainOf(statuses.at(-1))?.state?.terminated).toMatchObject({
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
  });
  expect(statuses.at(-1)?.phase).toBe('Failed');
});

// 836, 851: a status that was told before the agent knew the pod was lost
test('a status that is told at the start, before the pod is known, counts', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  node.create('web', { restartPolicy: 'Never' });
  await node.clock.advance(2 * second);
  await node.stop();
  await node.start(false);
  backend.end('default/web', 7);
  node.announce();
  await node.clock.advance(3 * second);
  expect(node.pod('web')?.status?.phase).toBe('Failed');
  expect(mainOf(node.pod('web')?.status)?.state?.terminated?.exitCode).toBe(7);
});

// 751: the provider was asked again later, and said something else
test('what was pushed counts, not what the provider says when it is asked later', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  node.create('web', { restartPolicy: 'Never' });
  await node.clock.advance(2 * second);
  const pod = backend.pods.get('default/web');
  backend.end('default/web', 5);
  if (pod) backend.pods.set('default/web', pod);
  await node.clock.advance(2 * second);
  expect(mainOf(node.pod('web')?.status)?.state?.terminated?.exitCode).toBe(5);
});

// 726: provider and core wrote to the same objects
test('what a provider is given and returns is its own', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  backend.instead.createPod = (pod: { spec: { containers: { image: string }[] } }) => {
    pod.spec.containers.length = 0;
    return Promise.resolve();
  };
  node.create('web');
  await node.clock.advance(2 * second);
  expect(node.pod('web')?.spec?.containers).toHaveLength(1);
  expect(node.controller.engines.podManager.getPods()[0]?.spec?.containers).toHaveLength(1);
});

// 773, 22: after 20 failures the pod was dropped in silence
test('a creation that fails is tried for ever and shows why', async () => {
  bed = await bedOf(false);
  const { node, backend } = bed;
  let failures = 25;
  backend.instead.createPod = (pod: never) => {
    if (failures-- > 0) throw unavailable('zone eu-1 is full');
    delete backend.instead.createPod;
    backend.add(pod);
  };
  node.create('web', { restartPolicy: 'Never' });
  await node.clock.advance(3 * second);
  expect(node.pod('web')?.status).toMatchObject({
    phase: 'Pending',
    reason: 'ProviderFailed',
    message: 'zone eu-1 is full',
  });
  expect(node.events).toContain('Warning ProviderCreateFailed zone eu-1 is full');
  await node.clock.advance(30 * 60 * second);
  expect(node.pod('web')?.status?.phase).toBe('Running');
  expect(node.pod('web')?.status?.reason).toBeUndefined();
});

// 361, code 28: pods that are never restarted failed with the first error that would have passed
test('an error that passes does not fail a pod, one that is permanent does', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  backend.instead.createPod = () => {
    throw permanent('image is not allowed');
  };
  node.create('web');
  await node.clock.advance(5 * second);
  expect(node.pod('web')?.status).toMatchObject({
    phase: 'Failed',
    reason: 'ProviderFailed',
    message: 'image is not allowed',
  });
  const { length } = backend.calls.filter((call) => call.startsWith('createPod'));
  await node.clock.advance(10 * 60 * second);
  expect(backend.counts('createPod')).toBe(length);
});

// 399: errors that say when to try again
test('a throttled creation is tried again when the provider said', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  backend.instead.createPod = () => {
    throw throttled('slow down', 45 * second);
  };
  node.create('web');
  await node.clock.advance(40 * second);
  expect(backend.counts('createPod')).toBe(1);
  await node.clock.advance(30 * second);
  expect(backend.counts('createPod')).toBe(2);
});

// liqo 1030, slurm-bridge 43: a glitch of the backend marked all pods failed
test.for(both)(
  'a listing or status that fails changes no status (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    node.create('web');
    await node.clock.advance(2 * second);
    const before = node.pod('web');
    backend.pods.clear();
    for (const method of ['getPods', 'getPodStatus', 'getPod'] as const)
      backend.instead[method] = () => {
        throw unavailable('maintenance');
      };
    await node.clock.advance(10 * 60 * second);
    expect(node.pod('web')).toEqual(before);
    expect(backend.counts('createPod')).toBe(1);
  },
);

// 786, 978: a pod that the provider lost
test.for(both)(
  'a pod that two listings do not show fails with an end that nobody saw (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    node.create('web');
    await node.clock.advance(2 * second);
    backend.pods.clear();
    await node.clock.advance(4 * second);
    expect(node.pod('web')?.status?.phase).toBe('Running');
    await node.clock.advance(150 * second);
    expect(node.pod('web')?.status).toMatchObject({ phase: 'Failed', reason: 'NotFound' });
    expect(mainOf(node.pod('web')?.status)?.state?.terminated).toMatchObject({
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
    });
  },
);

test('a lost pod is created again where the provider is set so and its restart policy allows', async () => {
  bed = await bedOf(false, { lostPods: 'recreate' });
  const { node, backend } = bed;
  node.create('web');
  await node.clock.advance(2 * second);
  backend.pods.clear();
  await node.clock.advance(120 * second);
  expect(backend.counts('createPod')).toBe(2);
  expect(node.pod('web')?.status?.phase).toBe('Running');
});

// 9, 223, kip 107, k3k 1021: what nobody wants was never found again, or healthy pods were swept
test.for(both)(
  'what the provider has and nobody wants is swept, after two listings (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    await node.clock.advance(2 * second);
    backend.add({
      metadata: { name: 'old', namespace: 'default', uid: 'old' },
      spec: { containers: [{ name: 'c' }] },
    });
    await node.clock.advance(3 * 60 * second);
    expect(backend.pods.size).toBe(0);
    expect(backend.counts('deletePod')).toBe(1);
  },
);

test('an orphan that the next listing does not show any more is left alone', async () => {
  bed = await bedOf(false);
  const { node, backend } = bed;
  backend.add({
    metadata: { name: 'old', namespace: 'default', uid: 'old' },
    spec: { containers: [{ name: 'c' }] },
  });
  const { instead } = backend;
  let shown = 1;
  const pods = [...backend.pods.values()];
  backend.pods.clear();
  instead.getPods = () => Promise.resolve(shown-- > 0 ? pods : []);
  await node.clock.advance(60 * second);
  expect(backend.counts('deletePod')).toBe(0);
});

// interLink 540: a failed deletion was forgotten, and the job ran on for ever
test.for(both)(
  'a deletion that fails is repeated until it succeeds, also after a restart (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    node.create('web');
    await node.clock.advance(2 * second);
    backend.instead.deletePod = () => {
      throw unavailable('queue is down');
    };
    node.delete('web');
    await node.clock.advance(60 * second);
    expect(node.pod('web')).toBeDefined();
    expect(node.events).toContain('Warning ProviderDeleteFailed queue is down');
    await node.restart();
    delete backend.instead.deletePod;
    await node.clock.advance(120 * second);
    expect(node.pod('web')).toBeUndefined();
    expect(backend.pods.size).toBe(0);
  },
);

// 783, 784: a pod that was being deleted while the agent was away
test('a pod that was deleted while no agent ran is ended by the next one', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  node.create('web');
  await node.clock.advance(2 * second);
  await node.stop();
  node.delete('web');
  await node.start();
  await node.clock.advance(20 * second);
  expect(node.pod('web')).toBeUndefined();
  expect(backend.pods.size).toBe(0);
});

// liqo 2748, BSVogler 4: a restart deleted, failed or doubled pods
test.for(both)(
  'a restart with everything in place writes nothing and calls nothing that changes (notifies: $notifies)',
  async ({ notifies }) => {
    bed = await bedOf(notifies);
    const { node, backend } = bed;
    for (let count = 0; count < 20; count++) node.create(`web-${count}`);
    await node.clock.advance(10 * second);
    expect(node.pod('web-7')?.status?.phase).toBe('Running');
    await node.clock.advance(60 * second);
    node.writes.length = 0;
    backend.calls.length = 0;
    await node.restart();
    await node.clock.advance(60 * second);
    expect(node.writes).toEqual([]);
    expect(backend.calls.filter((call) => /^(create|update|delete)Pod/.test(call))).toEqual([]);
  },
);

// 874: what its backend preempted stayed in the API
test('updatePod is called for what a kubelet would act on, and for nothing else', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  node.create('web');
  await node.clock.advance(2 * second);
  node.update('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { tier: 'front' } } }));
  await node.clock.advance(2 * second);
  expect(backend.counts('updatePod')).toBe(1);
  expect(backend.pods.get('default/web')?.metadata?.labels).toEqual({ tier: 'front' });
  expect(node.events).toContain('Normal ProviderUpdateSuccess Update pod in provider successfully');
  node.update('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, finalizers: ['example.com/f'] } }));
  await node.clock.advance(180 * second);
  expect(backend.counts('updatePod')).toBe(1);
});

test('an update that can never succeed is told once, and the pod runs on', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  node.create('web');
  await node.clock.advance(2 * second);
  backend.instead.updatePod = () => {
    throw permanent('labels are fixed');
  };
  node.update('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { tier: 'front' } } }));
  await node.clock.advance(10 * 60 * second);
  expect(backend.counts('updatePod')).toBe(1);
  expect(node.pod('web')?.status?.phase).toBe('Running');
  expect(node.events).toContain('Warning ProviderUpdateFailed labels are fixed');
});

// code 28, 29: readiness gates and foreign conditions were lost
test('conditions of others stay', async () => {
  bed = await bedOf(true);
  const { node, backend } = bed;
  node.create('web', { readinessGates: [{ conditionType: 'example.com/online' }] });
  await node.clock.advance(2 * second);
  node.update('web', (pod) => pod);
  const gate = { type: 'example.com/online', status: 'True' } as const;
  const client = node.api.client();
  const { podResource } = await import('../../src/api/resources.ts');
  await client.patch(
    podResource,
    { namespace: 'default', name: 'web' },
    { type: 'strategic', body: { status: { conditions: [gate] } } },
    { subresource: 'status' },
  );
  await node.clock.advance(2 * second);
  backend.set('default/web', (status) => ({ ...status, podIP: '198.51.100.9' }));
  await node.clock.advance(15 * second);
  expect(node.pod('web')?.status?.podIP).toBe('198.51.100.9');
  expect(node.pod('web')?.status?.conditions).toContainEqual(expect.objectContaining(gate));
});

// 45, 624, ACI 63: what a provider cannot do was dropped in silence
test('a pod that needs what its provider does not have is refused by name', async () => {
  bed = await bedOf(true);
  const { backend } = bed;
  await bed.stop();
  const handler = {
    ...backend.handler(true),
    capabilities: { volumes: ['emptyDir'], initContainers: false },
  };
  bed = await bedOf(true, { handler }, backend);
  bed.node.create('web', {
    initContainers: [{ name: 'setup', image: 'any' }],
    volumes: [{ name: 'data', hostPath: { path: '/srv' } }],
  });
  await bed.node.clock.advance(15 * second);
  expect(bed.node.pod('web')?.status).toMatchObject({
    phase: 'Failed',
    reason: 'UnsupportedByProvider',
    message:
      'Pod was rejected: provider test does not support init containers, volume "data" of kind hostPath',
  });
  expect(backend.counts('createPod')).toBe(0);
});
