import { silentLogger } from '../../../base/logger.ts';
import { FakeClock } from '../../../base/fake-clock.ts';
import type { PodLifecycleEvent } from '../../../pleg/diff.ts';
import { PodCache } from '../../../pleg/pod-cache.ts';
import type { RuntimeContainer, RuntimePod, RuntimePodStatus } from '../../../provider/runtime-pod.ts';
import { check, type Replay } from '../recording.ts';
import { containerStatusFrom } from '../support/runtime-status.ts';

interface RecordedPod {
  readonly uid: string;
  readonly containers: readonly RuntimeContainer[] | null;
  readonly sandboxes: readonly RuntimeContainer[] | null;
  readonly ips?: readonly string[];
  readonly statusError?: boolean;
}

interface Op {
  readonly op: 'relist' | 'relistPod' | 'requestReinspect' | 'none';
  readonly uid: string;
  readonly runtime?: readonly RecordedPod[] | null;
  readonly listError?: boolean;
}

interface Step {
  readonly at: number;
  readonly op: Op;
  readonly expect: { readonly cache?: Readonly<Record<string, object>> };
}

export const replay: Replay = async (line, _header, machines) => {
  const clock = new FakeClock();
  const cache = new PodCache();
  let runtime: readonly RecordedPod[] = [];
  let listError = false;
  let inspected: string[] = [];
  const pleg = machines.pleg(
    {
      clock,
      cache,
      logger: silentLogger,
      provider: {
        listPods: async () => {
          if (listError) throw new Error('list broke');
          return runtime.map(listed);
        },
        getPodStatus: async ({ uid }) => {
          inspected.push(uid);
          const pod = runtime.find((candidate) => candidate.uid === uid);
          if (pod?.statusError) throw new Error('status broke');
          return detailed(uid, pod);
        },
      },
    },
    { eventChannelCapacity: line['eventChannelCapacity'] as number },
  );
  let cached: Readonly<Record<string, object>> = {};
  for (const [step, { at, op, expect }] of (line['steps'] as Step[]).entries()) {
    clock.set(at * 1000);
    if (op.runtime !== undefined) runtime = op.runtime ?? [];
    listError = op.listError ?? false;
    inspected = [];
    if (op.op === 'relist') await pleg.relist();
    if (op.op === 'relistPod') await pleg.relistPod(op.uid);
    if (op.op === 'requestReinspect') pleg.requestReinspect(op.uid);
    cached = { ...cached, ...expect.cache };
    const healthError = pleg.health();
    const actual = {
      events: byUid(pleg.channel.drain()),
      getPodStatus: inspected.sort(),
      cache: Object.fromEntries(Object.keys(cached).map((uid) => [uid, read(cache, uid)])),
      healthy: healthError === undefined,
      healthError,
      tracked: pleg.tracked.toSorted(),
    };
    const mismatch = check({ ...expect, cache: cached }, actual, { step, operation: op });
    if (mismatch) return mismatch;
  }
  return undefined;
};

const listed = ({ uid, containers, sandboxes }: RecordedPod): RuntimePod => ({
  uid,
  name: uid,
  namespace: 'ns',
  containers: containers ?? [],
  sandboxes: sandboxes ?? [],
});

function detailed(uid: string, pod: RecordedPod | undefined): RuntimePodStatus {
  return {
    uid,
    name: uid,
    namespace: 'ns',
    ips: pod?.ips ?? [],
    containerStatuses: (pod?.containers ?? []).map(({ id, state }) =>
      containerStatusFrom({ id, name: id, state }),
    ),
    activeContainerStatuses: [],
    sandboxStatuses: (pod?.sandboxes ?? []).map(({ id, state }) => ({
      id,
      state: state === 'running' ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
      attempt: 0,
      createdAt: 0,
      networkMode: 'POD',
    })),
  };
}

function byUid(events: readonly PodLifecycleEvent[]): Record<string, object[]> {
  const found: Record<string, object[]> = {};
  for (const { uid, type, containerId } of events)
    (found[uid] ??= []).push({ type, containerID: containerId });
  return found;
}

function read(cache: PodCache, uid: string): object {
  try {
    const { containerStatuses, ips } = cache.get(uid);
    return { error: false, ips, containers: containerStatuses.map(({ id, state }) => `${id}:${state}`) };
  } catch {
    return { error: true };
  }
}
