import { expect, test } from 'vitest';
import { planServiceSlices } from '../../../src/controllermanager/discovery/endpoint-slices.ts';
import type { Slice } from '../../../src/controllermanager/discovery/service-pods.ts';
import { endpointPod, serviceOf } from './support.ts';

const nodes = new Map([
  ['n1', { metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'z1' } } }],
]);
const plan = (spec: object, pods: readonly ReturnType<typeof endpointPod>[], slices: readonly Slice[] = []) =>
  planServiceSlices({ service: serviceOf(spec), pods, slices, nodeOf: (name) => nodes.get(name) });
/** Slices as the API server would have them. */
const stored = (slices: readonly Slice[]): Slice[] =>
  slices.map((slice, at) => ({
    ...slice,
    metadata: { ...slice.metadata, name: slice.metadata?.name ?? `web-${at}` },
  }));

test('pods become endpoints with conditions, node, zone and labels of the service', () => {
  const { create, update, remove } = plan({}, [
    endpointPod('a', '10.0.0.1'),
    endpointPod('b', '10.0.0.2', { ready: false }),
    endpointPod('c', '10.0.0.3', { deleted: true }),
    endpointPod('d', '10.0.0.4', { phase: 'Succeeded' }),
  ]);
  expect([update, remove]).toEqual([[], []]);
  expect(create).toHaveLength(1);
  const [slice] = create;
  expect(slice?.addressType).toBe('IPv4');
  expect(slice?.ports).toEqual([{ name: 'http', port: 8080, protocol: 'TCP' }]);
  expect(slice?.metadata?.labels).toEqual({
    tier: 'front',
    'kubernetes.io/service-name': 'web',
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  });
  expect(slice?.metadata?.ownerReferences?.[0]).toMatchObject({
    kind: 'Service',
    name: 'web',
    controller: true,
  });
  expect(slice?.endpoints?.map(({ addresses, conditions }) => [addresses[0], conditions])).toEqual([
    ['10.0.0.1', { ready: true, serving: true, terminating: false }],
    ['10.0.0.2', { ready: false, serving: false, terminating: false }],
    ['10.0.0.3', { ready: false, serving: true, terminating: true }],
  ]);
  expect(slice?.endpoints?.[0]).toMatchObject({
    nodeName: 'n1',
    zone: 'z1',
    targetRef: { kind: 'Pod', namespace: 'default', name: 'a', uid: 'uid-a' },
  });
});

test('nothing is written when nothing has changed, and only what has', () => {
  const pods = [endpointPod('a', '10.0.0.1'), endpointPod('b', '10.0.0.2')];
  const slices = stored(plan({}, pods).create);
  expect(plan({}, pods, slices)).toMatchObject({ create: [], update: [], remove: [] });
  const down = plan(
    {},
    [endpointPod('a', '10.0.0.1', { ready: false }), endpointPod('b', '10.0.0.2')],
    slices,
  );
  expect(down.update[0]?.endpoints?.map(({ conditions }) => conditions?.ready)).toEqual([false, true]);
  expect(plan({ labels: { tier: 'back' } }, pods, slices).update[0]?.metadata?.labels?.['tier']).toBe('back');
});

test('a slice has 100 endpoints; the rest fills others before new ones are made', () => {
  const pods = Array.from({ length: 250 }, (_, at) => endpointPod(`p${at}`, `10.0.${at >> 8}.${at & 255}`));
  const first = plan({}, pods);
  expect(first.create.map(({ endpoints }) => endpoints?.length)).toEqual([100, 100, 50]);
  const more = [...pods, endpointPod('new', '10.1.0.1')];
  const second = plan({}, more, stored(first.create));
  expect(second.create).toEqual([]);
  expect(second.update.map(({ endpoints }) => endpoints?.length)).toEqual([51]);
  // one goes: its slice is written, and takes the new one
  const third = plan({}, more.slice(1), stored(first.create));
  expect([third.create.length, third.update.map(({ endpoints }) => endpoints?.length)]).toEqual([0, [100]]);
});

test('a service without pods has an empty slice, which the first endpoint takes over', () => {
  const empty = plan({}, []);
  expect(empty.create).toMatchObject([{ ports: [], endpoints: [] }]);
  const [slice] = stored(empty.create);
  expect(plan({}, [], slice ? [slice] : [])).toMatchObject({ create: [], update: [], remove: [] });
  const first = plan({}, [endpointPod('a', '10.0.0.1')], slice ? [slice] : []);
  expect(first).toMatchObject({ create: [], remove: [], update: [{ metadata: { name: 'web-0' } }] });
  expect(first.update[0]?.endpoints).toHaveLength(1);
});

test('both families of a dual-stack service, and no slices of a family that it lost', () => {
  const pods = [endpointPod('a', '10.0.0.1', { more: ['fd00::1'] })];
  const dual = plan({ ipFamilies: ['IPv6', 'IPv4'] }, pods);
  expect(dual.create.map(({ addressType, endpoints }) => [addressType, endpoints?.[0]?.addresses])).toEqual([
    ['IPv6', ['fd00::1']],
    ['IPv4', ['10.0.0.1']],
  ]);
  const single = plan({}, pods, stored(dual.create));
  expect(single.remove.map(({ addressType }) => addressType)).toEqual(['IPv6']);
});

test('named ports by pod, headless host names, published pods that are not ready', () => {
  const named = plan({ ports: [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }] }, [
    endpointPod('a', '10.0.0.1', { port: { name: 'web', containerPort: 8000 } }),
    endpointPod('b', '10.0.0.2', { port: { name: 'web', containerPort: 9000 } }),
    endpointPod('c', '10.0.0.3'),
  ]);
  expect(named.create.map(({ ports }) => ports?.map(({ port }) => port))).toEqual([[8000], [9000], []]);
  const headless = plan({ clusterIP: 'None', publishNotReadyAddresses: true, ports: [] }, [
    endpointPod('a', '10.0.0.1', { ready: false, hostname: 'a', subdomain: 'web' }),
    endpointPod('b', '10.0.0.2', { node: 'gone' }),
  ]);
  expect(headless.create[0]?.metadata?.labels).toHaveProperty('service.kubernetes.io/headless', '');
  expect(
    headless.create[0]?.endpoints?.map(({ hostname, conditions }) => [hostname, conditions?.ready]),
  ).toEqual([
    ['a', true],
    [undefined, true],
  ]);
});

test('a pod of an unknown node waits', () => {
  const { skipped, create } = plan({}, [endpointPod('b', '10.0.0.2', { node: 'gone' })]);
  expect(skipped.map(({ metadata }) => metadata?.name)).toEqual(['b']);
  expect(create[0]?.endpoints).toEqual([]);
});

test('trafficDistribution gives hints, and its removal takes them', () => {
  const pods = [endpointPod('a', '10.0.0.1'), endpointPod('b', '10.0.0.2', { ready: false })];
  const near = plan({ trafficDistribution: 'PreferSameNode' }, pods);
  expect(near.create[0]?.endpoints?.map(({ hints }) => hints)).toEqual([
    { forZones: [{ name: 'z1' }], forNodes: [{ name: 'n1' }] },
    undefined,
  ]);
  const far = plan({}, pods, stored(near.create));
  expect(far.update[0]?.endpoints?.map(({ hints }) => hints)).toEqual([undefined, undefined]);
});
