import { afterEach, describe, expect, test } from 'vitest';
import {
  eventResource,
  nodeResource,
  podResource,
  type Resource,
  serviceAccountResource,
} from '../../src/api/resources.ts';
import type { Event, KubeObject, Node, Pod } from '../../src/kube/types.ts';
import {
  formatQuantity,
  parseQuantity,
  quantityOf,
  subQuantities,
} from '../../src/kube/resources/quantity.ts';
import { type CriAgent, type CriAgentOptions, startCriAgent } from '../support/cri-agent.ts';
import { skipWithoutContainerd } from '../support/containerd.ts';

const shell = (script: string, more: object = {}): object => ({
  name: 'c',
  image: 'localhost/busybox:1',
  imagePullPolicy: 'IfNotPresent',
  command: ['/bin/sh', '-c', script],
  ...more,
});

const podOf = (name: string, container: object, spec: object = {}): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: 'node-a',
      terminationGracePeriodSeconds: 2,
      automountServiceAccountToken: false,
      containers: [container],
      ...spec,
    },
  }) as unknown as Pod;

// Real containers, and a kubelet that looks every 10 s.
describe.skipIf(skipWithoutContainerd())('eviction of real containers', () => {
  let running: CriAgent | undefined;
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  }, 60_000);

  const start = async (kubelet: CriAgentOptions['kubelet']): Promise<CriAgent> => {
    running = await startCriAgent({ cgroupRoot: '/pt-eviction', ...(kubelet && { kubelet }) });
    await running.admin.create(serviceAccountResource, {
      metadata: { name: 'default', namespace: 'default' },
    });
    return running;
  };

  test('a pod that outgrows its emptyDir fails as Evicted', { timeout: 120_000 }, async () => {
    const node = await start({});
    const { admin } = node;
    const fill = shell('dd if=/dev/zero of=/d/x bs=1M count=20; sleep 1000', {
      volumeMounts: [{ name: 'd', mountPath: '/d' }],
    });
    const volumes = [{ name: 'd', emptyDir: { sizeLimit: '1Mi' } }];
    await admin.create(podResource, podOf('greedy', fill, { volumes }));
    await admin.create(podResource, podOf('modest', shell('sleep 1000')));
    const { status } = await seen<Pod>(node, podResource, ({ metadata, status }) => {
      return metadata?.name === 'greedy' && status?.phase === 'Failed';
    });
    const message = 'Usage of EmptyDir volume "d" exceeds the limit "1Mi". ';
    expect(status).toMatchObject({ reason: 'Evicted', message });
    expect(status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
    expect(await eventsOf(admin, 'greedy')).toEqual([
      'Normal Pulled Container image "localhost/busybox:1" already present on machine and can be accessed by the pod',
      'Normal Created Container created',
      'Normal Started Container started',
      `Warning Evicted ${message}`,
      'Normal Killing Stopping container c',
    ]);
    const modest = await admin.get<Pod>(podResource, { namespace: 'default', name: 'modest' });
    expect(modest.status?.phase).toBe('Running');
  });

  test(
    'a node without memory says so, refuses best-effort pods and evicts by rank',
    { timeout: 180_000 },
    async () => {
      const node = await start({
        evictionHard: { 'memory.available': '64Mi' },
        evictionSoft: { 'memory.available': '99%' }, // no machine has that much to spare
        evictionSoftGracePeriod: { 'memory.available': '25s' },
        evictionMaxPodGracePeriod: 1,
      });
      const { admin } = node;
      const tolerations = [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }];
      const requests = { resources: { requests: { memory: '512Mi' } } };
      await Promise.all([
        admin.create(podResource, podOf('entitled', shell('sleep 1000', requests))),
        admin.create(podResource, podOf('idle', shell('sleep 1000'), { tolerations })),
        admin.create(
          podResource,
          podOf('hungry', shell('(head -c 100m /dev/zero; sleep 1000) | tail', {}), { tolerations }),
        ),
      ]);
      const { status: nodeStatus } = await seen<Node>(node, nodeResource, ({ status }) =>
        (status?.conditions ?? []).some((one) => one.type === 'MemoryPressure' && one.status === 'True'),
      );
      const { memory = '' } = nodeStatus?.capacity ?? {};
      expect(nodeStatus?.allocatable?.['memory']).toBe(
        formatQuantity(subQuantities(parseQuantity(memory), quantityOf(64 * 1024 ** 2, 'BinarySI'))),
      );
      const { items: events } = await admin.list<Event>(eventResource, {});
      expect(events.map(({ reason, message }) => `${reason ?? ''} ${message ?? ''}`)).toContain(
        'NodeAllocatableEnforced Updated Node Allocatable limit across pods',
      );
      await admin.create(podResource, podOf('late', shell('sleep 1000')));
      const ended: string[] = [];
      await seen<Pod>(node, podResource, ({ metadata, status }) => {
        const name = metadata?.name ?? '';
        if (status?.phase === 'Failed' && !ended.includes(name)) ended.push(name);
        return ended.length === 4;
      });
      expect(ended).toEqual(['late', 'hungry', 'idle', 'entitled']);
      const late = await admin.get<Pod>(podResource, { namespace: 'default', name: 'late' });
      expect(late.status).toMatchObject({
        reason: 'Evicted',
        message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
      });
      const hungry = await admin.get<Pod>(podResource, { namespace: 'default', name: 'hungry' });
      expect(hungry.status?.message).toMatch(
        /^The node was low on resource: memory\. Threshold quantity: \S+, available: \S+\. Container c was using \S+, request is 0, has larger consumption of memory\. $/,
      );
      expect(hungry.status?.conditions).toContainEqual(
        expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
      );
    },
  );
  test(
    'an agent that starts on a full node refuses what runs there, gives it time to end, and tells how it ended',
    { timeout: 120_000 },
    async () => {
      const node = await start({});
      const { admin } = node;
      const inTime = shell('trap "sleep 0.5; exit 0" TERM; while :; do sleep 0.1; done', {
        volumeMounts: [{ name: 'd', mountPath: '/d' }],
      });
      // the processes of a pod without volumes are ended with its cgroup, as by the kubelet
      await admin.create(podResource, podOf('p', inTime, { volumes: [{ name: 'd', emptyDir: {} }] }));
      await seen<Pod>(node, podResource, ({ status }) => status?.phase === 'Running');
      await node.restart({ evictionHard: { 'nodefs.available': '99%' } });
      const { status } = await seen<Pod>(node, podResource, ({ status }) => status?.phase === 'Succeeded');
      expect(status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
        exitCode: 0,
        reason: 'Completed',
      });
      expect((await eventsOf(admin, 'p')).slice(-2)).toEqual([
        'Warning Evicted The node had condition: [DiskPressure]. ',
        'Normal Killing Stopping container c',
      ]);
    },
  );
});

/** Waits until an object as the API server tells it is what is looked for. */
async function seen<T extends KubeObject>(
  { admin }: CriAgent,
  resource: Resource,
  wanted: (object: T) => boolean,
): Promise<T> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(100_000)]);
  for await (const { type, object } of admin.watch<T>(resource, { signal }))
    if (type !== 'ERROR' && wanted(object)) {
      stop.abort();
      return object;
    }
  throw new Error('the watch ended');
}

/** The pod's events in order; those of one second are in the order in which they were written. */
async function eventsOf(admin: CriAgent['admin'], pod: string): Promise<readonly string[]> {
  for (;;) {
    const { items } = await admin.list<Event>(eventResource, { namespace: 'default' });
    const own = items.filter(({ involvedObject }) => involvedObject.name === pod);
    const texts = own
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ type = '', reason = '', message = '' }) => `${type} ${reason} ${message}`);
    if (texts.some((text) => text.includes('Killing'))) return texts;
    await new Promise((resolve) => setImmediate(resolve)); // events are written behind
  }
}
