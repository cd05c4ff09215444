import { expect, test } from 'vitest';
import {
  endpointsOf,
  repacked,
  subsetsOf,
  truncated,
} from '../../../src/controllermanager/discovery/endpoints.ts';
import { planMirror } from '../../../src/controllermanager/discovery/mirror-slices.ts';
import { TriggerTimes } from '../../../src/controllermanager/discovery/service-pods.ts';
import { endpointPod, serviceOf } from './support.ts';

test('ready and unready addresses are in one subset; pods that end are left out', () => {
  const subsets = subsetsOf(serviceOf({}), [
    endpointPod('b', '10.0.0.2'),
    endpointPod('a', '10.0.0.1', { ready: false }),
    endpointPod('c', '10.0.0.3', { deleted: true }),
  ]);
  expect(subsets).toHaveLength(1);
  expect(subsets[0]?.addresses?.map(({ ip }) => ip)).toEqual(['10.0.0.2']);
  expect(subsets[0]?.notReadyAddresses?.map(({ ip }) => ip)).toEqual(['10.0.0.1']);
  expect(subsets[0]?.ports).toEqual([{ name: 'http', port: 8080, protocol: 'TCP' }]);
});

test('equal ports of subsets and equal addresses of ports are one', () => {
  const [a, b] = [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }];
  const ports = [{ port: 80, protocol: 'TCP' }];
  expect(
    repacked([
      { addresses: [b], ports },
      { addresses: [a], ports },
    ]),
  ).toEqual([{ addresses: [a, b], ports }]);
  const more = [...ports, { port: 90, protocol: 'TCP' }];
  expect(repacked(more.map((port) => ({ addresses: [a], ports: [port] })))).toEqual([
    { addresses: [a], ports: more },
  ]);
});

test('more than 1,000 addresses are cut, those that are not ready first', () => {
  const addresses = (count: number, from: number) =>
    Array.from({ length: count }, (_, at) => ({ ip: `10.${from}.${at >> 8}.${at & 255}` }));
  const cut = truncated([{ addresses: addresses(700, 0), notReadyAddresses: addresses(700, 1), ports: [] }]);
  expect([cut?.[0]?.addresses?.length, cut?.[0]?.notReadyAddresses?.length]).toEqual([700, 300]);
  const ready = truncated([{ addresses: addresses(900, 0) }, { addresses: addresses(900, 1) }]);
  expect(ready?.map((subset) => subset.addresses?.length)).toEqual([500, 500]);
  expect(truncated([{ addresses: addresses(1000, 0) }])).toBeUndefined();
});

test('an object is written once, and again when pods, labels or the number of addresses change', () => {
  const service = serviceOf({});
  const pods = [endpointPod('a', '10.0.0.1')];
  const first = endpointsOf(service, pods, { present: undefined, trigger: '2026-01-01T00:00:00Z' });
  expect(first?.metadata).toEqual({
    namespace: 'default',
    name: 'web',
    labels: { tier: 'front', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
    annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
  });
  expect(endpointsOf(service, pods, { present: first, trigger: undefined })).toBeUndefined();
  const relabelled = endpointsOf(serviceOf({ labels: { tier: 'back' } }), pods, {
    present: first,
    trigger: undefined,
  });
  expect(relabelled?.metadata?.labels?.['tier']).toBe('back');
  expect(relabelled?.metadata?.annotations).toEqual({});
  expect(endpointsOf(service, [], { present: first, trigger: undefined })?.subsets).toEqual([]);
});

test('the trigger is the creation of the service, then the earliest change of a pod', () => {
  const times = new TriggerTimes();
  const service = serviceOf({});
  const pod = endpointPod('a', '10.0.0.1');
  expect(times.next(service, [])).toBe('2026-01-01T00:00:00Z');
  expect(times.next(service, [pod])).toBe('2026-01-01T00:01:00Z');
  expect(times.next(service, [pod])).toBeUndefined();
});

test('Endpoints are mirrored by family, and mirrors that are right stay', () => {
  const endpoints = {
    metadata: {
      namespace: 'default',
      name: 'db',
      uid: 'u',
      labels: { app: 'db' },
      annotations: { note: 'x' },
    },
    subsets: [
      {
        addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }, { ip: 'nonsense' }],
        notReadyAddresses: [{ ip: '10.0.0.2', hostname: 'h' }],
        ports: [{ port: 5432, protocol: 'TCP' }],
      },
    ],
  };
  const { create, invalid } = planMirror(endpoints, []);
  expect(invalid).toBe(1);
  expect(
    create.map(({ addressType, endpoints: all }) => [addressType, all?.map(({ addresses }) => addresses[0])]),
  ).toEqual([
    ['IPv4', ['10.0.0.1', '10.0.0.2']],
    ['IPv6', ['fd00::1']],
  ]);
  expect(create[0]?.metadata).toMatchObject({
    generateName: 'db-',
    labels: {
      app: 'db',
      'kubernetes.io/service-name': 'db',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    },
    annotations: { note: 'x' },
    ownerReferences: [{ kind: 'Endpoints', name: 'db' }],
  });
  const stored = create.map((slice, at) => ({ ...slice, metadata: { ...slice.metadata, name: `db-${at}` } }));
  expect(planMirror(endpoints, stored)).toMatchObject({ create: [], update: [], remove: [] });
  const changed = planMirror({ ...endpoints, subsets: [{ addresses: [{ ip: '10.0.0.9' }] }] }, stored);
  expect([changed.create.length, changed.update.length, changed.remove.length]).toEqual([0, 1, 1]);
});
