import { expect, test } from 'vitest';
import type { PodStatus } from '../../src/kube/types.ts';
import { statusPatch } from '../../src/status/patch.ts';

/** What the patch says of the status, as text: the bytes count. */
function patchOf(old: unknown, next: unknown): string {
  const { body, unchanged } = statusPatch('u', old as PodStatus, next as PodStatus);
  const [, status] = /^\{"metadata":\{"uid":"u"\}(?:,"status":(.*))?\}$/.exec(body) ?? [];
  expect(unchanged).toBe(status === undefined);
  return status ?? '';
}

const nothing = '';

test('a patch names the pod by its UID, and nothing else when nothing differs', () => {
  expect(statusPatch('u', { phase: 'Running' }, { phase: 'Running' })).toEqual({
    body: '{"metadata":{"uid":"u"}}',
    unchanged: true,
  });
});

test.for([
  'observedGeneration',
  'phase',
  'message',
  'reason',
  'nominatedNodeName',
  'hostIP',
  'podIP',
  'startTime',
  'qosClass',
  'resize',
])('%s is written when it is new, nulled when it is gone, and its zero value is as good as none', (name) => {
  expect(patchOf({}, { [name]: 'x' })).toBe(`{"${name}":"x"}`);
  expect(patchOf({ [name]: 'x' }, { [name]: 'y' })).toBe(`{"${name}":"y"}`);
  expect(patchOf({ [name]: 'x' }, {})).toBe(`{"${name}":null}`);
  expect(patchOf({ [name]: 'x' }, { [name]: 'x' })).toBe(nothing);
  for (const zero of ['', 0, false, null, undefined]) expect(patchOf({}, { [name]: zero })).toBe(nothing);
});

test('what a newer server knows of a status is not touched', () => {
  expect(patchOf({ fromTheFuture: 1 }, {})).toBe(nothing);
  expect(patchOf({}, { fromTheFuture: 1 })).toBe(nothing);
});

test.for<[says: string, old: object, next: object, patch: string]>([
  ['a changed amount', { cpu: '1', memory: '1' }, { cpu: '2', memory: '1' }, '{"cpu":"2"}'],
  ['one that is gone', { cpu: '1', memory: '1' }, { memory: '1' }, '{"cpu":null}'],
  ['one that is new', { cpu: '1' }, { cpu: '1', memory: '1' }, '{"memory":"1"}'],
  ['the first ones', {}, { cpu: '1' }, '{"cpu":"1"}'],
  ['no more', { cpu: '1' }, {}, 'null'],
])('allocated resources are merged by name: %s', ([, old, next, patch]) => {
  expect(patchOf({ allocatedResources: old }, { allocatedResources: next })).toBe(
    `{"allocatedResources":${patch}}`,
  );
});

test('objects in objects are merged too; equal ones are left out', () => {
  const old = { resources: { limits: { cpu: '1' }, requests: { cpu: '1' } } };
  expect(patchOf(old, structuredClone(old))).toBe(nothing);
  expect(patchOf(old, { resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } })).toBe(
    '{"resources":{"requests":{"cpu":"2"}}}',
  );
  expect(patchOf(old, { resources: { limits: { cpu: '1' } } })).toBe('{"resources":{"requests":null}}');
});

test('the resources of a pod are an object that may be empty', () => {
  expect(patchOf({}, { resources: {} })).toBe('{"resources":{}}');
  expect(patchOf({}, { resources: { limits: {}, requests: {}, claims: [] } })).toBe('{"resources":{}}');
  expect(patchOf({ resources: {} }, {})).toBe('{"resources":null}');
});

test('a list without a key in an object is replaced whole', () => {
  const claims = (...names: string[]) => ({ resources: { claims: names.map((name) => ({ name })) } });
  expect(patchOf(claims('a', 'b'), claims('a', 'b'))).toBe(nothing);
  expect(patchOf(claims('a', 'b'), claims('a', 'c'))).toBe(
    '{"resources":{"claims":[{"name":"a"},{"name":"c"}]}}',
  );
  expect(patchOf(claims('a', 'b'), claims('a'))).toBe('{"resources":{"claims":[{"name":"a"}]}}');
});

test.for(['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])(
  '%s are replaced whole, with the members that Go always writes',
  (list) => {
    const status = (extra: object) => ({ [list]: [{ name: 'a', image: 'i', ...extra }] });
    const told = (ready: boolean, count: number) =>
      `{"${list}":[{"image":"i","imageID":"","lastState":{},"name":"a","ready":${ready},"restartCount":${count},"state":{}}]}`;
    expect(patchOf({}, status({}))).toBe(told(false, 0));
    expect(patchOf(status({}), status({ ready: true, restartCount: 2 }))).toBe(told(true, 2));
    expect(patchOf(status({}), status({ ready: false, state: {}, message: '' }))).toBe(nothing);
    expect(patchOf(status({}), {})).toBe(`{"${list}":null}`);
    expect(patchOf({}, { [list]: [] })).toBe(nothing);
    expect(patchOf({}, { [list]: [{}] })).toBe(
      `{"${list}":[{"image":"","imageID":"","lastState":{},"name":"","ready":false,"restartCount":0,"state":{}}]}`,
    );
  },
);

/** One container status as it is written, without what is always there. */
function writtenContainer(extra: object): Record<string, unknown> {
  const { containerStatuses } = JSON.parse(patchOf({}, { containerStatuses: [extra] })) as {
    containerStatuses: [Record<string, unknown>];
  };
  const always = {
    name: '',
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: {},
    lastState: {},
  };
  expect(containerStatuses[0]).toMatchObject({ ...always, ...('state' in extra && { state: {} }) });
  return Object.fromEntries(
    Object.entries(containerStatuses[0]).filter(
      ([name, value]) =>
        !(name in always) || JSON.stringify(value) !== JSON.stringify(always[name as 'name']),
    ),
  );
}

test.for<[says: string, given: object, written: object]>([
  [
    'a container that waits for nothing in particular',
    { state: { waiting: {} } },
    { state: { waiting: {} } },
  ],
  [
    'why it waits',
    { state: { waiting: { reason: 'r', message: '' } } },
    { state: { waiting: { reason: 'r' } } },
  ],
  ['no start time', { state: { running: {} } }, { state: { running: { startedAt: null } } }],
  [
    'an end without times',
    { lastState: { terminated: { reason: 'r', signal: 0 } } },
    { lastState: { terminated: { exitCode: 0, startedAt: null, finishedAt: null, reason: 'r' } } },
  ],
  [
    'an end',
    { state: { terminated: { exitCode: 3, startedAt: 'a', finishedAt: 'b' } } },
    { state: { terminated: { exitCode: 3, startedAt: 'a', finishedAt: 'b' } } },
  ],
  ['not started yet', { started: false }, { started: false }],
  ['nothing said of the start', { started: null }, {}],
  ['an empty stop signal', { stopSignal: '' }, { stopSignal: '' }],
  ['no container ID', { containerID: '' }, {}],
  ['empty resources', { resources: {} }, { resources: {} }],
  ['empty maps of resources', { resources: { limits: {} }, allocatedResources: {} }, { resources: {} }],
  ['an empty user', { user: {} }, { user: {} }],
  ['root', { user: { linux: {} } }, { user: { linux: { uid: 0, gid: 0 } } }],
  [
    'root’s groups, of which one is 0',
    { user: { linux: { uid: 0, gid: 0, supplementalGroups: [0, 1] } } },
    { user: { linux: { uid: 0, gid: 0, supplementalGroups: [0, 1] } } },
  ],
  [
    'mounts',
    { volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: false, recursiveReadOnly: '' }, {}] },
    { volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: '' }, {}] },
  ],
  [
    'the health of devices',
    { allocatedResourcesStatus: [{ name: 'd', resources: [{ resourceID: 'x', health: '' }] }] },
    { allocatedResourcesStatus: [{ name: 'd', resources: [{ resourceID: 'x' }] }] },
  ],
])('a container status is written as Go writes it: %s', ([, given, written]) => {
  expect(writtenContainer(given)).toEqual(written);
});

test.for<[says: string, old: object[], next: object[]]>([
  ['one more', [{ name: 'a' }], [{ name: 'a' }, { name: 'b' }]],
  ['one member more', [{ name: 'a' }], [{ name: 'a', containerID: 'x' }]],
  ['one member for another', [{ volumeMounts: [{ name: 'v' }] }], [{ containerID: 'x' }]],
  ['one element of a list', [{ volumeMounts: [{ name: 'v' }] }], [{ volumeMounts: [{ name: 'w' }] }]],
])('container statuses that differ are written: %s', ([, old, next]) => {
  const [there, back] = [
    patchOf({ containerStatuses: old }, { containerStatuses: next }),
    patchOf({ containerStatuses: next }, { containerStatuses: old }),
  ];
  expect(JSON.parse(there)).toMatchObject({ containerStatuses: next });
  expect(JSON.parse(back)).toMatchObject({ containerStatuses: old });
});

test.for<[says: string, old: string[], next: string[], patch: string]>([
  ['the same', ['a', 'b'], ['a', 'b'], nothing],
  ['the first', [], ['a'], '{"L":[{"K":"a"}]}'],
  ['one more', ['a'], ['a', 'b'], '{"$setElementOrder/L":[{"K":"a"},{"K":"b"}],"L":[{"K":"b"}]}'],
  [
    'two fewer, deleted in the order of their keys',
    ['c', 'a', 'b'],
    ['a'],
    '{"$setElementOrder/L":[{"K":"a"}],"L":[{"$patch":"delete","K":"b"},{"$patch":"delete","K":"c"}]}',
  ],
  ['another order', ['a', 'b'], ['b', 'a'], '{"$setElementOrder/L":[{"K":"b"},{"K":"a"}]}'],
  [
    'two change places',
    ['a', 'b', 'c'],
    ['a', 'c', 'b'],
    '{"$setElementOrder/L":[{"K":"a"},{"K":"c"},{"K":"b"}]}',
  ],
  ['none any more', ['a'], [], '{"L":null}'],
])('addresses are patched one by one: %s', ([, old, next, patch]) => {
  for (const list of ['podIPs', 'hostIPs']) {
    const ips = (all: string[]) => ({ [list]: all.map((ip) => ({ ip })) });
    expect(patchOf(ips(old), ips(next))).toBe(patch.replaceAll('L"', `${list}"`).replaceAll('K', 'ip'));
    expect(patchOf({}, { [list]: [{}] })).toBe(`{"${list}":[{"ip":""}]}`);
  }
});

test('a condition is patched by its type: only what changed, with its type, and the order of all', () => {
  const ready = { type: 'Ready', status: 'False', lastProbeTime: null, lastTransitionTime: 't' };
  const other = { type: 'Other', status: 'True' };
  expect(patchOf({}, { conditions: [other, {}] })).toBe(
    '{"conditions":[{"lastProbeTime":null,"lastTransitionTime":null,"status":"True","type":"Other"},' +
      '{"lastProbeTime":null,"lastTransitionTime":null,"status":"","type":""}]}',
  );
  expect(
    patchOf(
      { conditions: [ready, other] },
      { conditions: [{ ...ready, status: 'True', reason: 'r' }, other] },
    ),
  ).toBe(
    '{"$setElementOrder/conditions":[{"type":"Ready"},{"type":"Other"}],' +
      '"conditions":[{"reason":"r","status":"True","type":"Ready"}]}',
  );
  const { lastTransitionTime: _, ...timeless } = ready;
  expect(patchOf({ conditions: [ready] }, { conditions: [timeless] })).toBe(
    '{"$setElementOrder/conditions":[{"type":"Ready"}],"conditions":[{"lastTransitionTime":null,"type":"Ready"}]}',
  );
});

test('claims are patched by their name, and a claim that was not made is another than none', () => {
  const claims = (...all: object[]) => ({ resourceClaimStatuses: all });
  expect(patchOf({}, claims({ name: 'a', resourceClaimName: '' }, {}))).toBe(
    '{"resourceClaimStatuses":[{"name":"a","resourceClaimName":""},{"name":""}]}',
  );
  expect(patchOf(claims({ name: 'a' }, { name: 'b' }), claims({ name: 'b', resourceClaimName: 'x' }))).toBe(
    '{"$setElementOrder/resourceClaimStatuses":[{"name":"b"}],' +
      '"resourceClaimStatuses":[{"name":"b","resourceClaimName":"x"},{"$patch":"delete","name":"a"}]}',
  );
  expect(patchOf({}, { extendedResourceClaimStatus: {} })).toBe('{"extendedResourceClaimStatus":{}}');
});

test('JSON is written as Go does: keys in order, angle brackets, ampersands and line separators escaped', () => {
  expect(patchOf({}, { reason: 'r', phase: 'p', message: '<a href="x">&\u2028\u2029é</a>' })).toBe(
    '{"message":"\\u003ca href=\\"x\\"\\u003e\\u0026\\u2028\\u2029é\\u003c/a\\u003e","phase":"p","reason":"r"}',
  );
});
