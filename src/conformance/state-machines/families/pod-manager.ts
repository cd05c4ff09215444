import { isMirrorPod, uidOf } from '../../../kube/names.ts';
import type { Pod } from '../../../kube/types.ts';
import type { PodManagerMachine } from '../machines.ts';
import { check, type Replay } from '../recording.ts';

interface Op {
  readonly op: 'update' | 'remove' | 'set';
  readonly pod: Pod;
  readonly v: string;
  readonly pods: readonly Pod[] | null;
}

interface Expect extends Readonly<Record<string, unknown>> {
  readonly podToMirror: Readonly<Record<string, string | readonly string[]>>;
}

const label = (pod: Pod | undefined): string | null => pod?.metadata?.labels?.['v'] ?? null;

export const replay: Replay = (line, _header, machines) => {
  const manager = machines.podManager();
  const objects = new Map<string, Pod>();
  for (const [step, { op, expect }] of (line['steps'] as { op: Op; expect: Expect }[]).entries()) {
    const built = op.op === 'update' ? [op.pod] : (op.pods ?? []);
    for (const pod of built) objects.set(uidOf(pod), pod);
    if (op.op === 'update') manager.updatePod(op.pod);
    if (op.op === 'set') manager.setPods(built);
    if (op.op === 'remove') {
      const pod = [...objects.values()].find((candidate) => label(candidate) === op.v);
      if (pod) manager.removePod(pod);
    }
    const actual = queries(manager, objects);
    const oneOf = Object.fromEntries(
      Object.entries(expect.podToMirror).map(([uid, expected]) => {
        const got = actual.podToMirror[uid];
        return [uid, Array.isArray(expected) && expected.includes(got) ? got : expected];
      }),
    );
    const exactly = sameKeys(oneOf, actual.podToMirror);
    const mismatch =
      check({ ...expect, podToMirror: oneOf }, actual, { step, operation: op }) ??
      check(true, exactly, { step, operation: op });
    if (mismatch) return mismatch;
  }
  return undefined;
};

const sameKeys = (a: object, b: object): boolean =>
  JSON.stringify(Object.keys(a).sort()) === JSON.stringify(Object.keys(b).sort());

const record = <V>(entries: Iterable<readonly [string | null, V]>): Readonly<Record<string, V>> =>
  Object.fromEntries([...entries].map(([key, value]) => [key ?? '', value] as const));

function queries(manager: PodManagerMachine, objects: ReadonlyMap<string, Pod>) {
  const { pods, mirrors, orphanedMirrorFullNames } = manager.getPodsAndMirrorPods();
  const { podToMirror, mirrorToPod } = manager.getUIDTranslations();
  const all = [...objects.values()];
  const byName = [...new Set(all.map((pod) => pod.metadata?.name ?? ''))];
  return {
    pods: pods.map(label).sort(),
    mirrorPods: mirrors.map(label).sort(),
    orphanedMirrors: orphanedMirrorFullNames.toSorted(),
    byUID: record([...objects.keys()].map((uid) => [uid, label(manager.getPodByUID(uid))] as const)),
    byName: record(byName.map((name) => [name, label(manager.getPodByName('ns', name))] as const)),
    translate: record(
      [...objects.keys()]
        .map((uid) => [uid, manager.translatePodUID(uid)] as const)
        .filter(([uid, to]) => uid !== to),
    ),
    podAndMirror: record(
      all.map((object) => {
        const { pod, mirror, wasMirror } = manager.getPodAndMirrorPod(object);
        if (wasMirror !== isMirrorPod(object)) throw new Error('a mirror is one by its annotation');
        return [label(object), [label(pod), label(mirror), wasMirror]] as const;
      }),
    ),
    podToMirror: record(podToMirror),
    mirrorToPod: record(mirrorToPod),
    staticToMirror: record(
      [...manager.getStaticPodToMirrorPodMap()].map(([pod, mirror]) => [label(pod), label(mirror)] as const),
    ),
  };
}
