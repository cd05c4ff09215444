import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  configMapResource,
  eventResource,
  namespaceResource,
  podResource,
  type Resource,
} from '../../../src/api/resources.ts';
import type { ConfigMap, Event, KubeObject, Pod, PodSpec } from '../../../src/kube/types.ts';
import type { KubernetesProviderOptions } from '../../../src/providers/kubernetes/index.ts';
import { type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

let bed: TwoClusters;
beforeAll(async () => {
  bed = await twoClusters();
}, 30_000);
afterAll(async () => {
  await bed.stop();
});

const eventually = <T>(check: () => Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 50 });

const backingIn = async (namespace: string): Promise<readonly (string | undefined)[]> =>
  (await bed.there.list<Pod>(podResource, namespace)).map(
    ({ metadata }) => metadata?.annotations?.['podtender.io/pod'],
  );

/** Makes namespaces in both clusters. */
async function namespaces(names: {
  readonly here: readonly string[];
  readonly there: readonly string[];
}): Promise<void> {
  for (const [cluster, list] of [
    [bed.here, names.here],
    [bed.there, names.there],
  ] as const)
    for (const name of list) await cluster.client.create(namespaceResource, { metadata: { name } });
}

const createIn = (namespace: string, name: string): Promise<Pod> => bed.create(name, {}, { namespace });

const podIn = (namespace: string, name: string): Promise<Pod> =>
  bed.here.get<Pod>(podResource, namespace, name);

/** Starts an agent without `namespace`. */
const startMapped = async (settings: Partial<KubernetesProviderOptions>): Promise<void> => {
  await bed.startAgent({ namespace: undefined, ...settings } as Partial<KubernetesProviderOptions>);
};

const readyIn = (namespace: string, name: string): Promise<Pod> =>
  eventually(async () => {
    const pod = await podIn(namespace, name);
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({ ready: true });
    return pod;
  });

test('namespaces are mapped by name; pods of others are refused', async () => {
  await namespaces({ here: ['shop', 'bank', 'loose'], there: ['there-shop', 'there-bank'] });
  await startMapped({ namespaces: { shop: 'there-shop', bank: 'there-bank' } });
  for (const namespace of ['shop', 'bank']) await createIn(namespace, 'same');
  for (const namespace of ['shop', 'bank']) {
    await readyIn(namespace, 'same');
    expect(await backingIn(`there-${namespace}`)).toEqual([`${namespace}/same`]);
  }
  await createIn('loose', 'same');
  await eventually(async () => {
    const { status } = await podIn('loose', 'same');
    expect(status).toMatchObject({ phase: 'Failed', reason: 'NamespaceNotMapped' });
    expect(status?.message).toContain('namespace loose has no namespace in the backing cluster');
  });
  await bed.here.client.delete(podResource, { namespace: 'shop', name: 'same' });
  await eventually(async () => {
    expect(await backingIn('there-shop')).toEqual([]);
  });
  expect(await backingIn('there-bank')).toEqual(['bank/same']);
});

test('one namespace takes those that are not mapped', async () => {
  await namespaces({ here: ['rest'], there: [] });
  await startMapped({ namespaces: { shop: 'there-shop' }, namespace: 'podtender' });
  await createIn('shop', 'mapped');
  await createIn('rest', 'unmapped');
  await readyIn('shop', 'mapped');
  await readyIn('rest', 'unmapped');
  expect(await backingIn('there-shop')).toContain('shop/mapped');
  expect(await backingIn('podtender')).toContain('rest/unmapped');
});

test('a prefix makes the backing namespace of each; one that does not exist is named, and used once it is there', async () => {
  await namespaces({ here: ['blue', 'green'], there: ['edge-blue'] });
  await startMapped({ namespacePrefix: 'edge-' });
  await createIn('blue', 'web');
  await createIn('green', 'web');
  await readyIn('blue', 'web');
  expect(await backingIn('edge-blue')).toEqual(['blue/web']);
  await eventually(async () => {
    expect((await podIn('green', 'web')).status?.phase).toBe('Pending');
    const events = await bed.here.list<Event>(eventResource, 'green');
    expect(events.map(({ message }) => message).join()).toContain('namespaces "edge-green" not found');
  });
  await namespaces({ here: [], there: ['edge-green'] });
  await readyIn('green', 'web');
}, 60_000);

/** Creates a pod here and returns its backing pod. */
async function backingOf(name: string, spec: Partial<PodSpec>, metadata: Pod['metadata'] = {}): Promise<Pod> {
  await bed.create(name, spec, metadata);
  return eventually(async () => {
    const [pod] = await bed.backing(name);
    expect(pod?.spec?.containers).toHaveLength(1);
    expect(pod?.spec?.schedulingGates ?? []).toEqual([]);
    return pod!;
  });
}

const affinity = (key: string) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'Exists' }] }],
    },
  },
});
const exists = (key: string) => ({ key, operator: 'Exists', effect: 'NoSchedule' });
const cluster = (group: string, version: string, resource: string, kind: string): Resource => ({
  ...{ group, version, resource, kind, namespaced: false },
});

test('labels, annotations, placement, classes and pull secrets come from the settings; those of the pod for this cluster do not', async () => {
  const runtimeClasses = cluster('node.k8s.io', 'v1', 'runtimeclasses', 'RuntimeClass');
  const priorities = cluster('scheduling.k8s.io', 'v1', 'priorityclasses', 'PriorityClass');
  for (const name of ['gvisor', 'kata'])
    await bed.there.client.create(runtimeClasses, { metadata: { name }, handler: name } as KubeObject);
  for (const name of ['here-sandbox'])
    await bed.here.client.create(runtimeClasses, { metadata: { name }, handler: name } as KubeObject);
  await bed.there.client.create(priorities, { metadata: { name: 'guest' }, value: -10 } as KubeObject);
  await bed.startAgent({
    labels: { tier: 'edge', app: 'from-settings' },
    annotations: { note: 'from-settings', 'podtender.io/pod': 'forged/name' },
    nodeSelector: { disk: 'ssd' },
    affinity: affinity('there'),
    tolerations: [exists('there')],
    runtimeClassName: 'gvisor',
    runtimeClasses: { 'here-sandbox': 'kata' },
    priorityClassName: 'guest',
    schedulerName: 'other-scheduler',
    serviceAccountName: 'default',
    imagePullSecrets: ['registry'],
  });
  const own = {
    nodeSelector: { 'kubernetes.io/hostname': 'edge' },
    affinity: affinity('kubernetes.io/hostname'),
    tolerations: [{ operator: 'Exists' }],
  };
  const backing = await backingOf('placed', own, { labels: { app: 'web', own: 'yes' } });
  expect(backing.metadata).toMatchObject({
    labels: { tier: 'edge', app: 'from-settings', own: 'yes' },
    annotations: { note: 'from-settings', 'podtender.io/pod': 'default/placed' },
  });
  expect(backing.spec).toMatchObject({
    ...{ nodeSelector: { disk: 'ssd' }, affinity: affinity('there'), runtimeClassName: 'gvisor' },
    ...{ priorityClassName: 'guest', priority: -10, schedulerName: 'other-scheduler' },
    ...{ serviceAccountName: 'default', imagePullSecrets: [{ name: 'registry' }] },
  });
  const keys = (backing.spec?.tolerations ?? []).map(({ key }) => key).sort();
  // the last two are added by admission there
  expect(keys).toEqual(['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable', 'there']);
  const mapped = await backingOf('sandboxed', {
    ...own,
    runtimeClassName: 'here-sandbox',
  });
  expect(mapped.spec?.runtimeClassName).toBe('kata');
});

test('name servers, searches and options are added to those of the pod', async () => {
  const dns = {
    nameservers: ['192.0.2.53'],
    searches: ['edge.example'],
    options: [{ name: 'ndots', value: '2' }],
  };
  await bed.startAgent({ dns });
  const plain = await backingOf('plain-dns', {});
  expect(plain.spec).toMatchObject({ dnsPolicy: 'ClusterFirst', dnsConfig: dns });
  const own = { nameservers: ['192.0.2.54'], searches: ['pod.example', 'edge.example'] };
  const { spec } = await backingOf('own-dns', { dnsPolicy: 'None', dnsConfig: own });
  expect(spec?.dnsPolicy).toBe('None');
  expect(spec?.dnsConfig).toEqual({
    nameservers: ['192.0.2.54', '192.0.2.53'],
    searches: ['pod.example', 'edge.example'],
    options: dns.options,
  });
});

test('with a policy all pods have it, with the name servers of the settings', async () => {
  await bed.startAgent({ dns: { policy: 'None', nameservers: ['192.0.2.53'], searches: ['edge.example'] } });
  const { spec } = await backingOf('policy-dns', { dnsPolicy: 'ClusterFirst' });
  expect(spec?.dnsPolicy).toBe('None');
  expect(spec?.dnsConfig).toEqual({ nameservers: ['192.0.2.53'], searches: ['edge.example'] });
});

test('with useNode pods resolve names as in this cluster', async () => {
  await bed.startAgent({ dns: { useNode: true, searches: ['edge.example'] } });
  const { spec } = await backingOf('node-dns', {});
  const [first] = spec?.dnsConfig?.nameservers ?? [];
  // an agent without a cluster domain uses the resolver of its machine
  if (first === undefined) expect(spec?.dnsPolicy).toBe('ClusterFirst');
  else expect(spec?.dnsPolicy).toBe('None');
  expect(spec?.dnsConfig?.searches).toContain('edge.example');
});

test('what a pod refers to goes into the namespace of its backing pod', async () => {
  await startMapped({ namespaces: { shop: 'there-shop' } });
  await bed.here.client.create<ConfigMap>(configMapResource, {
    metadata: { name: 'site', namespace: 'shop' },
    data: { a: '1' },
  });
  await bed.create(
    'carrier',
    { volumes: [{ name: 'v', configMap: { name: 'site' } }] },
    { namespace: 'shop' },
  );
  await readyIn('shop', 'carrier');
  const maps = await bed.there.list<ConfigMap>(configMapResource, 'there-shop');
  expect(maps.find(({ metadata }) => metadata?.name?.endsWith('.volume.v'))?.data).toEqual({ a: '1' });
});
