import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeSnapshot, type SourceMemory } from '../../src/config/pod-storage.ts';
import type { PodUpdate } from '../../src/config/pod-update.ts';
import { nameOf, uidOf } from '../../src/kube/names.ts';
import type { Pod } from '../../src/kube/types.ts';

const pod = (uid: string, more: { meta?: object; image?: string; phase?: string } = {}): Pod => ({
  metadata: { name: uid, namespace: 'ns', uid, ...more.meta },
  spec: { containers: [{ name: 'c', image: more.image ?? 'i' }] },
  ...(more.phase !== undefined && { status: { phase: more.phase } }),
});

/** Merges snapshots of one source in turn; gives the batches of the last one, in short. */
function merged(...snapshots: (readonly Pod[])[]): string[] {
  let memory: SourceMemory | undefined;
  let updates: readonly PodUpdate[] = [];
  for (const pods of snapshots) ({ memory, updates } = mergeSnapshot(memory, { source: 'api', pods }, 0));
  return updates.map(({ op, pods }) => `${op} ${pods.map(nameOf).join(' ')}`.trim());
}

describe('one merge (R4 to R14)', () => {
  const deleting = { meta: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

  test.for<[string, Pod[][], string[]]>([
    ['the first snapshot of a source without pods is an empty ADD', [[]], ['ADD']],
    ['a later empty snapshot of nothing is nothing', [[], []], []],
    ['a new pod is added', [[pod('a')]], ['ADD a']],
    ['the same pod again is nothing', [[pod('a')], [pod('a')]], []],
    ['a changed spec updates', [[pod('a')], [pod('a', { image: 'j' })]], ['UPDATE a']],
    ['changed labels update', [[pod('a')], [pod('a', { meta: { labels: { x: 'y' } } })]], ['UPDATE a']],
    [
      'a foreign annotation updates',
      [[pod('a')], [pod('a', { meta: { annotations: { x: 'y' } } })]],
      ['UPDATE a'],
    ],
    [
      'an annotation that went updates',
      [[pod('a', { meta: { annotations: { x: 'y' } } })], [pod('a')]],
      ['UPDATE a'],
    ],
    [
      'a local annotation does not count',
      [[pod('a')], [pod('a', { meta: { annotations: { 'kubernetes.io/config.mirror': 'h' } } })]],
      [],
    ],
    [
      'finalizers and owners do not count',
      [[pod('a')], [pod('a', { meta: { finalizers: ['f'], resourceVersion: '9' } })]],
      [],
    ],
    ['a deletion timestamp deletes', [[pod('a')], [pod('a', deleting)]], ['DELETE a']],
    [
      'each later change of a pod in deletion deletes again',
      [[pod('a', deleting)], [pod('a', { ...deleting, image: 'j' })]],
      ['DELETE a'],
    ],
    ['taking the deletion back updates', [[pod('a', deleting)], [pod('a')]], ['UPDATE a']],
    ['only a changed status reconciles', [[pod('a')], [pod('a', { phase: 'Running' })]], ['RECONCILE a']],
    [
      'a changed spec hides a changed status',
      [[pod('a')], [pod('a', { phase: 'Running', image: 'j' })]],
      ['UPDATE a'],
    ],
    ['what vanished is removed', [[pod('a'), pod('b')], [pod('b')]], ['REMOVE a']],
    [
      'a new UID under an old name is removed first, then added',
      [[pod('a')], [pod('b', { meta: { name: 'a' } })]],
      ['REMOVE a', 'ADD a'],
    ],
    [
      "batches come in the kubelet's order",
      [
        [pod('a'), pod('b'), pod('c'), pod('d')],
        [pod('d', { phase: 'x' }), pod('c', deleting), pod('b', { image: 'j' }), pod('e')],
      ],
      ['REMOVE a', 'ADD e', 'UPDATE b', 'DELETE c', 'RECONCILE d'],
    ],
    ['null and absent are the same', [[pod('a')], [{ ...pod('a'), status: null as unknown as object }]], []],
    ['a pod without a spec or a name is still a pod', [[{}], [{ metadata: {} }]], []],
  ])('%s', ([, snapshots, expected]) => {
    expect(merged(...snapshots)).toEqual(expected);
  });

  test('of two pods with one name the first counts, the other is reported as a duplicate (R8)', () => {
    const twin = pod('b', { meta: { name: 'a' } });
    const { updates, duplicates, accepted } = mergeSnapshot(
      undefined,
      { source: 'file', pods: [pod('a'), twin] },
      0,
    );
    expect(updates[0]?.pods.map(uidOf)).toEqual(['a']);
    expect(duplicates).toEqual([twin]);
    expect(accepted.map(uidOf)).toEqual(['a']);
  });

  test('what is taken over and what stays (R13)', () => {
    const first = pod('a', {
      meta: {
        resourceVersion: '1',
        ownerReferences: [{ name: 'o' }],
        annotations: { 'kubernetes.io/config.seen': 'mine' },
      },
    });
    const second = pod('a', {
      image: 'j',
      phase: 'Running',
      meta: {
        resourceVersion: '2',
        generation: 5,
        annotations: { x: 'y', 'kubernetes.io/config.mirror': 'h' },
      },
    });
    const one = mergeSnapshot(
      undefined,
      { source: 'http', pods: [first] },
      Date.parse('2026-01-02T03:04:05.678Z'),
    );
    const [update] = mergeSnapshot(one.memory, { source: 'http', pods: [second] }, 1e12).updates;
    expect(update?.pods[0]).toEqual({
      metadata: {
        name: 'a',
        namespace: 'ns',
        uid: 'a',
        resourceVersion: '1',
        generation: 5,
        ownerReferences: [{ name: 'o' }],
        annotations: {
          x: 'y',
          'kubernetes.io/config.source': 'http',
          'kubernetes.io/config.seen': '2026-01-02T03:04:05.678000000Z',
          'kubernetes.io/config.mirror': 'h',
        },
      },
      spec: { containers: [{ name: 'c', image: 'j' }] },
      status: { phase: 'Running' },
    });
  });

  test('an object of the last snapshot is not compared again, and nothing is written to any', () => {
    const frozen = Object.freeze(pod('a'));
    const one = mergeSnapshot(undefined, { source: 'api', pods: [frozen] }, 0);
    const two = mergeSnapshot(one.memory, { source: 'api', pods: [frozen] }, 0);
    expect(two.updates).toEqual([]);
    expect(two.memory.pods.get('a')).toBe(one.memory.pods.get('a'));
  });
});

const arbitraryPod = fc
  .record({
    uid: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    image: fc.constantFrom('i', 'j'),
    phase: fc.option(fc.constantFrom('Pending', 'Running'), { nil: undefined }),
    labels: fc.option(fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom('v', 'w')), {
      nil: undefined,
    }),
    deleting: fc.boolean(),
  })
  .map(({ uid, image, phase, labels, deleting }) =>
    pod(uid, {
      image,
      ...(phase !== undefined && { phase }),
      meta: { ...(labels && { labels }), ...(deleting && { deletionTimestamp: 't' }) },
    }),
  );
const arbitrarySnapshot = fc.uniqueArray(arbitraryPod, { selector: uidOf, maxLength: 5 });

/** What a follower of the updates holds. */
function follow(held: Map<string, Pod>, updates: readonly PodUpdate[]): void {
  for (const { op, pods } of updates)
    for (const one of pods)
      if (op === 'REMOVE') held.delete(uidOf(one));
      else held.set(uidOf(one), one);
}

const meaning = ({ metadata, spec, status }: Pod): object => ({
  labels: metadata?.labels ?? {},
  at: metadata?.deletionTimestamp,
  spec,
  status: status ?? {},
});

describe('any snapshots', () => {
  test('merging a snapshot twice gives nothing new', () => {
    fc.assert(
      fc.property(fc.array(arbitrarySnapshot, { maxLength: 4 }), arbitrarySnapshot, (before, last) => {
        expect(merged(...before, last, structuredClone(last))).toEqual([]);
      }),
    );
  });

  test('who applies the updates holds what the source wants', () => {
    fc.assert(
      fc.property(fc.array(arbitrarySnapshot, { minLength: 1, maxLength: 6 }), (snapshots) => {
        let memory: SourceMemory | undefined;
        const held = new Map<string, Pod>();
        for (const pods of snapshots) {
          const result = mergeSnapshot(memory, { source: 'api', pods }, 0);
          ({ memory } = result);
          follow(held, result.updates);
          expect(new Map([...held].map(([uid, one]) => [uid, meaning(one)]))).toEqual(
            new Map(pods.map((one) => [uidOf(one), meaning(one)])),
          );
        }
      }),
    );
  });

  test('the order of pods in a snapshot decides the order of a batch, never its members', () => {
    fc.assert(
      fc.property(arbitrarySnapshot, arbitrarySnapshot, (first, second) => {
        const set = (lines: string[]): string[] =>
          lines.map((line) => line.split(' ').sort().join(' ')).sort();
        expect(set(merged(first, second))).toEqual(set(merged(first, second.toReversed())));
      }),
    );
  });

  test('a pod is in one batch only', () => {
    fc.assert(
      fc.property(arbitrarySnapshot, arbitrarySnapshot, (first, second) => {
        const names = merged(first, second).flatMap((line) => line.split(' ').slice(1));
        expect(new Set(names).size).toBe(names.length);
      }),
    );
  });
});
