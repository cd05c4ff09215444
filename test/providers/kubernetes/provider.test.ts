import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  configMapResource,
  eventResource,
  nodeResource,
  podResource,
  secretResource,
} from '../../../src/api/resources.ts';
import type { ConfigMap, Event, Node, Pod, Secret } from '../../../src/kube/types.ts';
import { backingNamespace, type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

let bed: TwoClusters;
beforeAll(async () => {
  bed = await twoClusters();
  await bed.startAgent({ labels: { tier: 'edge' } });
}, 30_000);
afterAll(async () => {
  await bed.stop();
});

const eventually = <T>(check: () => Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 50 });

const runs = (name: string): Promise<Pod> =>
  eventually(async () => {
    const pod = await bed.pod(name);
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({ ready: true });
    return pod;
  });

const backingOf = async (name: string): Promise<Pod> => {
  const [pod] = await bed.backing(name);
  if (!pod) throw new Error(`pod ${name} has no backing pod`);
  return pod;
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('a pod runs as a backing pod, with status, address and container IDs from there', async () => {
  await bed.create('web', {}, { labels: { app: 'web' }, annotations: { note: 'kept' } });
  const pod = await runs('web');
  const backing = await backingOf('web');
  expect(pod.status).toMatchObject({ phase: 'Running', podIP: backing.status?.podIP });
  expect(pod.status?.containerStatuses?.[0]?.containerID).toMatch(/^kubernetes:\/\//);
  expect(backing.metadata).toMatchObject({
    labels: {
      app: 'web',
      tier: 'edge',
      'podtender.io/node': 'edge',
      'podtender.io/pod-uid': pod.metadata?.uid,
    },
    annotations: { note: 'kept', 'podtender.io/pod': 'default/web' },
  });
  expect(backing.metadata?.name).toMatch(/^web-[0-9a-f]{10}$/);
  expect(backing.spec).toMatchObject({
    nodeName: 'worker',
    hostname: 'web',
    automountServiceAccountToken: false,
  });
  const node = await bed.here.client.get<Node>(nodeResource, { name: 'edge' });
  expect(node.spec?.taints).toMatchObject([{ key: 'virtual-kubelet.io/provider', value: 'kubernetes' }]);
});

test('deleting the pod ends the backing pod and removes all that was carried along', async () => {
  await bed.here.client.create<ConfigMap>(configMapResource, {
    metadata: { name: 'site', namespace: 'default' },
    data: { 'index.html': 'hello' },
  });
  await bed.here.client.create<Secret>(secretResource, {
    metadata: { name: 'key', namespace: 'default' },
    data: { password: base64('geheim') },
  });
  await bed.create('carrier', {
    containers: [
      {
        name: 'main',
        image: 'web',
        env: [
          { name: 'PLAIN', value: 'p' },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'key', key: 'password' } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        ],
      },
    ],
    volumes: [
      { name: 'site', configMap: { name: 'site' } },
      { name: 'key', secret: { secretName: 'key' } },
    ],
  });
  const pod = await runs('carrier');
  const backing = await backingOf('carrier');
  const name = backing.metadata?.name ?? '';
  expect(JSON.stringify(backing.spec)).not.toContain('geheim');
  const configMap = await bed.there.get<ConfigMap>(
    configMapResource,
    backingNamespace,
    `${name}.volume.site`,
  );
  expect(configMap.data).toEqual({ 'index.html': 'hello' });
  expect(configMap.metadata?.ownerReferences).toMatchObject([{ kind: 'Pod', name }]);
  const env = await bed.there.get<Secret>(secretResource, backingNamespace, `${name}.env`);
  expect(env.data).toMatchObject({ 'main.PASSWORD': base64('geheim'), 'main.NAME': base64('carrier') });
  const main = backing.spec?.containers[0];
  expect(main?.env).toContainEqual({ name: 'PLAIN', value: 'p' });
  expect(main?.env?.find((one) => one.name === 'IP')).toMatchObject({
    valueFrom: { fieldRef: { fieldPath: 'status.podIP' } },
  });
  // the token of the pod's service account of this cluster
  const token = pod.spec?.volumes?.find(({ projected }) => projected)?.name ?? '';
  const projected = await bed.there.get<Secret>(secretResource, backingNamespace, `${name}.volume.${token}`);
  expect(Object.keys(projected.data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'token']);

  await bed.here.client.delete(podResource, { namespace: 'default', name: 'carrier' });
  await eventually(async () => {
    await expect(bed.pod('carrier')).rejects.toMatchObject({ code: 'not_found' });
  });
  expect(await bed.backing('carrier')).toEqual([]);
  const left = [
    ...(await bed.there.list<ConfigMap>(configMapResource, backingNamespace)),
    ...(await bed.there.list<Secret>(secretResource, backingNamespace)),
  ].filter(({ metadata }) => metadata?.name?.startsWith(name));
  expect(left).toEqual([]);
});

test('labels, annotations and images follow the pod', async () => {
  await bed.create('changing', {}, { labels: { a: '1', b: '2' } });
  await runs('changing');
  const body = {
    metadata: { labels: { a: '3', b: null } },
    spec: { containers: [{ name: 'main', image: 'web:2' }] },
  };
  await bed.here.client.patch(
    podResource,
    { namespace: 'default', name: 'changing' },
    { type: 'strategic', body },
  );
  await eventually(async () => {
    const { metadata, spec } = await backingOf('changing');
    expect(metadata?.labels?.['a']).toBe('3');
    expect(metadata?.labels).not.toHaveProperty('b');
    expect(spec?.containers[0]?.image).toBe('web:2');
  });
});

test('a backing pod that someone deletes there makes the pod Failed, and it is not made again', async () => {
  await bed.create('victim');
  await runs('victim');
  const { metadata: { name = '', uid } = {} } = await backingOf('victim');
  await bed.there.client.delete(podResource, { namespace: backingNamespace, name });
  await eventually(async () => {
    const { status } = await bed.pod('victim');
    expect(status).toMatchObject({ phase: 'Failed', reason: 'BackingPodDeleted' });
    expect(status?.message).toContain(`pod ${backingNamespace}/${name} was deleted in the backing cluster`);
  });
  expect((await bed.backing('victim')).map(({ metadata }) => metadata?.uid)).toEqual([uid]);
});

test('an eviction there is an eviction here, with its disruption', async () => {
  await bed.create('evicted', { restartPolicy: 'Never' });
  await runs('evicted');
  const { metadata: { name = '' } = {} } = await backingOf('evicted');
  const eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace: backingNamespace },
  };
  await bed.there.client.raw(`/api/v1/namespaces/${backingNamespace}/pods/${name}/eviction`, {
    method: 'POST',
    body: eviction,
  });
  await eventually(async () => {
    const { status } = await bed.pod('evicted');
    expect(['Failed', 'Succeeded']).toContain(status?.phase);
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }),
    );
  });
});

test('a pod of the same name is another pod there', async () => {
  const first = await bed.create('twin');
  await runs('twin');
  await bed.here.client.delete(
    podResource,
    { namespace: 'default', name: 'twin' },
    { gracePeriodSeconds: 0 },
  );
  const second = await bed.create('twin');
  await runs('twin');
  expect(second.metadata?.uid).not.toBe(first.metadata?.uid);
  await eventually(async () => {
    const uids = (await bed.backing('twin')).map(
      ({ metadata }) => metadata?.labels?.['podtender.io/pod-uid'],
    );
    expect(uids).toEqual([second.metadata?.uid]);
  });
});

test('events about the backing pod become events of the pod', async () => {
  await bed.create('noisy');
  const pod = await runs('noisy');
  await eventually(async () => {
    const events = await bed.here.list<Event>(eventResource, 'default');
    const own = events.filter(({ involvedObject }) => involvedObject.uid === pod.metadata?.uid);
    expect(own.map(({ reason }) => reason)).toContain('Scheduled');
    expect(own.find(({ reason }) => reason === 'Scheduled')?.message).toContain('to worker');
  });
});

test('a restarted agent adopts its backing pods', async () => {
  await bed.create('lasting');
  const before = await runs('lasting');
  const { metadata } = await backingOf('lasting');
  await bed.startAgent({ labels: { tier: 'edge' } });
  await bed.create('after-restart');
  await runs('after-restart');
  expect((await bed.backing('lasting')).map((one) => one.metadata?.uid)).toEqual([metadata?.uid]);
  const after = await runs('lasting');
  expect(after.status?.containerStatuses?.[0]).toMatchObject({
    containerID: before.status?.containerStatuses?.[0]?.containerID,
    restartCount: 0,
  });
});

test('a backing pod that vanished while the agent was away is a Failed pod', async () => {
  await bed.create('vanished');
  await runs('vanished');
  const { metadata: { name = '' } = {} } = await backingOf('vanished');
  await bed.stopAgent();
  const ref = { namespace: backingNamespace, name };
  await bed.there.client.patch(podResource, ref, { type: 'merge', body: { metadata: { finalizers: null } } });
  await bed.there.client.delete(podResource, ref, { gracePeriodSeconds: 0 });
  await bed.startAgent({ labels: { tier: 'edge' } });
  await eventually(async () => {
    expect((await bed.pod('vanished')).status).toMatchObject({
      phase: 'Failed',
      reason: 'BackingPodDeleted',
    });
  });
  expect(await bed.backing('vanished')).toEqual([]);
});
