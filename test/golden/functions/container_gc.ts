import {
  containersToCollect,
  sandboxesToCollect,
} from '../../../src/containers/kuberuntime/gc/container-gc-decide.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly allSourcesReady: boolean;
  readonly evictNonDeletedPods: boolean;
  readonly contentRemoved: readonly string[] | null;
  readonly runtimeRemoved: readonly string[] | null;
  readonly policy: {
    readonly minAgeSeconds: number;
    readonly maxPerPodContainer: number;
    readonly maxContainers: number;
  };
  readonly containers:
    | readonly {
        ID: string;
        PodUID: string;
        Name: string;
        SandboxID: string;
        State: string;
        AgeSeconds: number;
      }[]
    | null;
  readonly sandboxes: readonly { ID: string; PodUID: string; State: string; AgeSeconds: number }[] | null;
}

const now = Date.parse('2026-03-04T05:06:07Z');

export const replay: Replay = ({ in: given, out }) => {
  const input = given as Input;
  const pods = {
    ...input,
    shouldPodContentBeRemoved: (uid: string) => input.contentRemoved?.includes(uid) ?? false,
    shouldPodRuntimeBeRemoved: (uid: string) => input.runtimeRemoved?.includes(uid) ?? false,
  };
  const containers = (input.containers ?? []).map((one) => ({
    id: one.ID,
    podUid: one.PodUID,
    name: one.Name,
    sandboxId: one.SandboxID,
    running: one.State === 'CONTAINER_RUNNING',
    createdAt: now - one.AgeSeconds * 1000,
  }));
  const sandboxes = (input.sandboxes ?? []).map((one) => ({
    id: one.ID,
    podUid: one.PodUID,
    ready: one.State === 'SANDBOX_READY',
    createdAt: now - one.AgeSeconds * 1000,
  }));
  const { minAgeSeconds, ...counts } = input.policy;
  const policy = { minAgeMs: minAgeSeconds * 1000, ...counts };
  const gone = new Set<unknown>(containersToCollect(containers, policy, pods, now));
  const left = containers.filter((container) => !gone.has(container));
  const removed = new Set(sandboxesToCollect(sandboxes, left, pods));
  const actual = {
    errors: [null, null],
    remainingContainers: left.map(({ id }) => id).sort(),
    remainingSandboxes: sandboxes
      .filter((sandbox) => !removed.has(sandbox))
      .map(({ id }) => id)
      .sort(),
  };
  return check(out, actual, { operation: input });
};
