import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from '../../src/kube/types.ts';
import { maxTerminationMessageBytes, normalizeStatus } from '../../src/status/normalize.ts';

const [whole, precise] = ['2000-01-01T00:00:00Z', '2000-01-01T01:00:00.5+01:00'];

const containerOf = (name: string, extra: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  image: 'i',
  imageID: '',
  ready: false,
  restartCount: 0,
  lastState: {},
  ...extra,
});

const named = (...names: string[]): { name: string; image: string }[] =>
  names.map((name) => ({ name, image: 'i' }));

const single: Pod = { spec: { containers: named('a') } };

const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

test('what is as the API would give it is the same object still, without times too (R198)', () => {
  const status: PodStatus = {
    startTime: whole,
    conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: whole } as never],
    ...Object.fromEntries(
      lists.map((list) => [
        list,
        [
          containerOf('a', { state: { waiting: { reason: 'r' } } }),
          containerOf('b', { state: { running: { startedAt: whole } }, lastState: { waiting: {} } }),
          containerOf('c', { state: { terminated: { exitCode: 1, finishedAt: whole, message: 'm' } } }),
        ],
      ]),
    ),
  };
  const pod: Pod = { spec: { containers: named('a', 'b', 'c'), initContainers: named('a', 'b', 'c') } };
  expect(normalizeStatus(pod, status)).toBe(status);
  expect(normalizeStatus({}, {})).toEqual({});
});

test('times are cut to whole seconds in UTC, each where it stands (R198)', () => {
  const states = (at: string): Partial<ContainerStatus> => ({
    state: { running: { startedAt: at } },
    lastState: { terminated: { exitCode: 1, reason: 'r', startedAt: at, finishedAt: at } },
  });
  const status = (at: string): PodStatus => ({
    phase: 'Running',
    startTime: at,
    conditions: [
      { type: 'Ready', status: 'True', lastProbeTime: at, lastTransitionTime: at },
      { type: 'Initialized', status: 'True', lastTransitionTime: at },
    ] as never,
    ...Object.fromEntries(
      lists.map((list) => [list, [containerOf('a', states(at)), containerOf('b', states(at))]]),
    ),
  });
  expect(normalizeStatus(single, status(precise))).toEqual(status(whole));
});

test('only what changed is another object (R198)', () => {
  const [kept, changed] = [
    containerOf('a', { state: { running: { startedAt: whole } } }),
    containerOf('b', { state: { running: { startedAt: precise } } }),
  ];
  const status = { containerStatuses: [kept, changed], podIPs: [{ ip: '10.0.0.1' }] };
  const normal = normalizeStatus(single, status);
  expect(normal.podIPs).toBe(status.podIPs);
  expect(normal.containerStatuses?.[0]).toBe(kept);
  expect(normal.containerStatuses?.[1]?.lastState).toBe(changed.lastState);
  expect(changed.state?.running?.startedAt).toBe(precise);
  expect('initContainerStatuses' in normal || 'conditions' in normal || 'startTime' in normal).toBe(false);
});

test('Go’s zero time is no time; the start of a pod stays as it was given (R198)', () => {
  const zero = '0001-01-01T00:00:00Z';
  const terminated = { exitCode: 0, startedAt: zero, finishedAt: whole };
  const status = { startTime: zero, containerStatuses: [containerOf('a', { state: { terminated } })] };
  expect(normalizeStatus(single, status)).toStrictEqual({
    startTime: zero,
    containerStatuses: [containerOf('a', { state: { terminated: { exitCode: 0, finishedAt: whole } } })],
  });
});

const messageOf = (pod: Pod, message: string): string | undefined => {
  const ended = containerOf('a', { state: { terminated: { exitCode: 1, reason: 'r', message } } });
  const [normal] = normalizeStatus(pod, { containerStatuses: [ended] }).containerStatuses ?? [];
  expect(normal?.state?.terminated).toMatchObject({ exitCode: 1, reason: 'r' });
  return normal?.state?.terminated?.message;
};

test.for<[spec: Pod['spec'], share: number]>([
  [undefined, 12_288],
  [{ containers: [] }, 12_288],
  [{ containers: named('a') }, 12_288],
  [{ containers: named('a', 'b') }, 6144],
  [{ containers: named('a'), initContainers: named('i') }, 6144],
  [{ containers: named('a'), initContainers: named('i', 'j'), ephemeralContainers: named('e', 'f') }, 2457],
  [{ containers: [], initContainers: named('i', 'j', 'k'), ephemeralContainers: [] }, 4096],
])('of the spec %j each container may say %i bytes at its end (R198)', ([spec, share]) => {
  const pod = spec ? { spec } : {};
  expect(maxTerminationMessageBytes).toBe(12_288);
  expect(messageOf(pod, 'x'.repeat(share))).toBe('x'.repeat(share));
  expect(messageOf(pod, 'x'.repeat(share + 1))).toBe('x'.repeat(share));
});

test('a message is cut by bytes, and each byte of a character cut in two becomes a replacement character (R198)', () => {
  const fits = 'x'.repeat(12_284);
  expect(messageOf(single, `${fits}😀`)).toBe(`${fits}😀`);
  expect(messageOf(single, `${fits}y😀`)).toBe(`${fits}y\ufffd\ufffd\ufffd`);
  expect(messageOf(single, `${fits}y\ufffd\ufffd\ufffd`)).toBe(`${fits}y\ufffd\ufffd\ufffd`); // cut before
  expect(messageOf(single, `${fits}yz😀`)).toBe(`${fits}yz\ufffd\ufffd`);
  expect(messageOf(single, `${fits}wxyz😀`)).toBe(`${fits}wxyz`);
  expect(messageOf(single, 'ü'.repeat(6144))).toBe('ü'.repeat(6144));
});

test('the last state has its share too (R198)', () => {
  const lastState = { terminated: { exitCode: 1, message: 'x'.repeat(20_000) } };
  const { containerStatuses } = normalizeStatus(single, {
    containerStatuses: [containerOf('a', { lastState })],
  });
  expect(containerStatuses?.[0]?.lastState?.terminated?.message).toHaveLength(12_288);
  expect(containerStatuses?.[0]).not.toHaveProperty('state');
});

test('regular and ephemeral containers are sorted by name (R198)', () => {
  const status = {
    containerStatuses: ['b', 'c', 'a', 'a'].map((name) => containerOf(name)),
    ephemeralContainerStatuses: ['e', 'd'].map((name) => containerOf(name)),
  };
  const normal = normalizeStatus(single, status);
  expect(normal.containerStatuses?.map(({ name }) => name)).toEqual(['a', 'a', 'b', 'c']);
  expect(normal.ephemeralContainerStatuses?.map(({ name }) => name)).toEqual(['d', 'e']);
});

const initNames = (spec: string[], statuses: string[]): string[] | undefined =>
  normalizeStatus(
    { spec: { containers: [], initContainers: named(...spec) } },
    { initContainerStatuses: statuses.map((name) => containerOf(name)) },
  ).initContainerStatuses?.map(({ name }) => name);

test.for<[statuses: string[], sorted: string[]]>([
  [
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
  ],
  [
    ['c', 'b', 'a'],
    ['a', 'b', 'c'],
  ],
  [
    ['a', 'c', 'b'],
    ['a', 'b', 'c'],
  ],
  [
    ['c', 'b'],
    ['b', 'c'],
  ],
  [
    ['x', 'c', 'a'],
    ['a', 'c', 'x'],
  ],
  [
    ['x', 'y', 'a'],
    ['a', 'y', 'x'],
  ],
  [['x'], ['x']],
])('of the spec a, b, c the init statuses %j come as %j (R198)', ([statuses, sorted]) => {
  expect(initNames(['a', 'b', 'c'], statuses)).toEqual(sorted);
});

test('init statuses of every order come in the order of the spec, and none is lost (R198)', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  fc.assert(
    fc.property(fc.shuffledSubarray(names), (some) => {
      expect(initNames(names, some)).toEqual(names.filter((name) => some.includes(name)));
    }),
  );
  expect(
    normalizeStatus({}, { initContainerStatuses: [containerOf('x')] }).initContainerStatuses,
  ).toHaveLength(1);
});
