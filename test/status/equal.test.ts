import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PodStatus } from '../../src/kube/types.ts';
import { isPodStatusByKubeletEqual } from '../../src/status/equal.ts';

/** Compares both ways: which one is older makes no difference. */
function equal(a: unknown, b: unknown): boolean {
  const there = isPodStatusByKubeletEqual(a as PodStatus, b as PodStatus);
  expect(isPodStatusByKubeletEqual(b as PodStatus, a as PodStatus)).toBe(there);
  return there;
}

const [texts, lists, amounts] = [
  ['a', 'b'],
  [[{ name: 'a' }], [{ name: 'b' }]],
  [{ cpu: '1' }, { cpu: '2' }],
];

test.for<[field: keyof PodStatus, values: readonly unknown[]]>([
  ['observedGeneration', texts],
  ['phase', texts],
  ['message', texts],
  ['reason', texts],
  ['nominatedNodeName', texts],
  ['hostIP', texts],
  ['hostIPs', lists],
  ['podIP', texts],
  ['podIPs', lists],
  ['startTime', texts],
  ['qosClass', texts],
  ['resize', texts],
  ['initContainerStatuses', lists],
  ['containerStatuses', lists],
  ['ephemeralContainerStatuses', lists],
  ['allocatedResources', amounts],
  ['resources', amounts],
])('%s is the kubelet’s, so it counts (R188)', ([field, [one, other]]) => {
  expect(equal({ [field]: one }, { [field]: other })).toBe(false);
  expect(equal({ [field]: one }, {})).toBe(false);
  expect(equal({ [field]: one }, { [field]: structuredClone(one) })).toBe(true);
});

test('claims are the server’s and what is not known yet is nobody’s: they do not count (R188)', () => {
  expect(equal({ resourceClaimStatuses: [{ name: 'a' }], fromTheFuture: 1 }, {})).toBe(true);
});

const condition = (type: string, extra: object = {}) => ({ type, status: 'True', ...extra });

test.for<[says: string, old: object[] | undefined, next: object[] | undefined, equal: boolean]>([
  ['none and none', undefined, [], true],
  [
    'another order',
    [condition('Ready'), condition('Initialized')],
    [condition('Initialized'), condition('Ready')],
    true,
  ],
  ['another status', [condition('Ready')], [condition('Ready', { status: 'False' })], false],
  ['another reason', [condition('Ready', { reason: 'a' })], [condition('Ready', { reason: 'b' })], false],
  ['no reason and an empty one', [condition('Ready', { reason: '' })], [condition('Ready')], true],
  ['another message', [condition('Ready', { message: 'a' })], [condition('Ready')], false],
  ['no message and an empty one', [condition('Ready', { message: '' })], [condition('Ready')], true],
  [
    'other times and generations',
    [condition('Ready', { lastTransitionTime: 'a', lastProbeTime: 'b', observedGeneration: 1 })],
    [condition('Ready')],
    true,
  ],
  ['one more', [condition('Ready')], [condition('Ready'), condition('Initialized')], false],
  ['another one', [condition('Initialized')], [condition('Ready')], false],
  ['one of somebody else', [condition('example.com/gate')], [], true],
  [
    'one of somebody else before ours',
    [condition('example.com/gate'), condition('Ready')],
    [condition('Ready'), condition('other.example/gate')],
    true,
  ],
  ['the one that is shared', [condition('DisruptionTarget')], [], false],
])('conditions are compared where the kubelet writes them: %s (R188, R200)', ([, old, next, same]) => {
  expect(equal({ ...(old && { conditions: old }) }, { ...(next && { conditions: next }) })).toBe(same);
});

const withContainer = (extra: object) => ({ containerStatuses: [{ name: 'c', ready: true, ...extra }] });

test.for<[says: string, a: object, b: object, equal: boolean]>([
  ['no count and zero', { restartCount: 0 }, {}, true],
  ['no image and an empty one', { image: '' }, {}, true],
  ['not ready and nothing said', { ready: false }, { ready: undefined }, true],
  ['ready and not', { ready: true }, { ready: false }, false],
  ['started false, which Go keeps behind a pointer, and nothing said', { started: false }, {}, false],
  ['an empty stop signal', { stopSignal: '' }, {}, false],
  ['the same stop signal', { stopSignal: 'SIGTERM' }, { stopSignal: 'SIGTERM' }, true],
  ['no state and an empty one', { state: {} }, {}, true],
  ['no last state and an empty one', { lastState: {} }, {}, true],
  ['a state without content', { state: { waiting: null } }, {}, true],
  ['a state of null and an empty one', { state: null }, { state: {} }, true],
  ['a state of null and one that says something', { state: null }, { state: { waiting: {} } }, false],
  ['a state that says something', { state: { waiting: {} } }, {}, false],
  ['two ways to wait', { state: { waiting: {} } }, { state: { waiting: { reason: 'r' } } }, false],
  ['waiting and running', { state: { waiting: {} } }, { state: { running: {} } }, false],
  ['exit code 0 and none', { state: { terminated: { exitCode: 0 } } }, { state: { terminated: {} } }, true],
  ['no user and an empty one, which Go keeps behind a pointer', { user: {} }, {}, false],
  ['no resources and empty ones, behind a pointer too', { resources: {} }, {}, false],
  ['no limits and empty ones', { resources: { limits: {} } }, { resources: {} }, true],
  ['no requests and empty ones', { resources: { requests: {} } }, { resources: {} }, true],
  ['nothing allocated', { allocatedResources: {} }, {}, true],
  ['something allocated', { allocatedResources: { cpu: '1' } }, {}, false],
  [
    'one amount, written in two ways',
    { allocatedResources: { cpu: '1' } },
    { allocatedResources: { cpu: '1000m' } },
    true,
  ],
  [
    'one limit, written in two ways',
    { resources: { limits: { memory: '1Gi' } } },
    { resources: { limits: { memory: '1024Mi' } } },
    true,
  ],
  [
    'one request, written in two ways',
    { resources: { requests: { cpu: '0.5' } } },
    { resources: { requests: { cpu: '500m' } } },
    true,
  ],
  ['two amounts', { allocatedResources: { cpu: '1' } }, { allocatedResources: { cpu: '2' } }, false],
  [
    'one amount more',
    { allocatedResources: { cpu: '1' } },
    { allocatedResources: { cpu: '1', memory: '1' } },
    false,
  ],
  [
    'amounts of other things',
    { allocatedResources: { cpu: '1' } },
    { allocatedResources: { memory: '1' } },
    false,
  ],
  [
    'what is no amount',
    { allocatedResources: { cpu: 'many' } },
    { allocatedResources: { cpu: 'few' } },
    false,
  ],
  ['no mounts and an empty list', { volumeMounts: [] }, {}, true],
  ['a mount', { volumeMounts: [{ name: 'v' }] }, {}, false],
  [
    'a mount more',
    { volumeMounts: [{ name: 'v' }] },
    { volumeMounts: [{ name: 'v' }, { name: 'w' }] },
    false,
  ],
  ['another mount', { volumeMounts: [{ name: 'v' }] }, { volumeMounts: [{ name: 'w' }] }, false],
  [
    'a mount that says how far read-only goes',
    { volumeMounts: [{ recursiveReadOnly: '' }] },
    { volumeMounts: [{}] },
    false,
  ],
  [
    'a group of number 0',
    { user: { linux: { supplementalGroups: [0] } } },
    { user: { linux: { supplementalGroups: [] } } },
    false,
  ],
  ['a list and an object', { volumeMounts: [{}] }, { volumeMounts: { length: 1 } }, false],
  [
    'groups',
    { user: { linux: { supplementalGroups: [0, 1] } } },
    { user: { linux: { supplementalGroups: [0, 2] } } },
    false,
  ],
])('members of a container are compared as Go holds them: %s (R188)', ([, a, b, same]) => {
  expect(equal(withContainer(a), withContainer(b))).toBe(same);
});

/** The members given, each there or not. */
const some = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> =>
  fc.record(members, { requiredKeys: [] });
const text = fc.constantFrom('', 'a', 'b');
const amountsOf = fc.dictionary(fc.constantFrom('cpu', 'memory'), fc.constantFrom('1', '1000m', '2'));
const container = some({
  name: text,
  ready: fc.boolean(),
  started: fc.boolean(),
  restartCount: fc.nat(1),
  state: some({ waiting: some({ reason: text }), terminated: some({ exitCode: fc.nat(1) }) }),
  resources: some({ limits: amountsOf, requests: amountsOf }),
  allocatedResources: amountsOf,
  volumeMounts: fc.array(some({ name: text, readOnly: fc.boolean() }), { maxLength: 2 }),
});

test('whatever a status holds, it equals its copy, and the order of two makes no difference (R188)', () => {
  const status = some({
    phase: text,
    conditions: fc.uniqueArray(
      fc.constantFrom('Ready', 'Initialized', 'DisruptionTarget', 'x').map((type) => condition(type)),
      {
        selector: ({ type }) => type,
      },
    ),
    containerStatuses: fc.array(container, { maxLength: 2 }),
  });
  fc.assert(
    fc.property(status, status, (a, b) => {
      expect(equal(a, structuredClone(a))).toBe(true);
      equal(a, b);
    }),
    { numRuns: 300 },
  );
});
