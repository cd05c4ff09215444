import { fnv1a32 } from '../../base/fnv.ts';
import { goDuration } from '../../kube/duration.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { RuntimePodStatus } from '../../provider/runtime-pod.ts';

/** The back-off by key that restarts and image pulls ask; `base/backoff.ts` has it. */
export interface BackoffTable {
  get(key: string): number;
  next(key: string, eventAt: number): void;
  isInBackOffSince(key: string, eventAt: number): boolean;
  isInBackOffSinceUpdate(key: string, eventAt: number): boolean;
  gc(): void;
}

/** A pod as messages name it: `name_namespace(uid)` (kubelet `format.Pod`). */
export const podText = (pod: Pod): string => `${nameOf(pod)}_${namespaceOf(pod)}(${uidOf(pod)})`;

/** What a crash back-off is kept by: another image or other resources begin anew (R179, `GetBackoffKey`). */
export function backoffKey(pod: Pod, container: Container): string {
  const { image = '', resources } = container;
  const hash = fnv1a32(JSON.stringify([image, sorted(resources?.requests), sorted(resources?.limits)]));
  return [nameOf(pod), namespaceOf(pod), uidOf(pod), container.name, hash.toString(16)].join('_');
}

const sorted = (amounts: Readonly<Record<string, string>> | undefined): readonly (readonly string[])[] =>
  Object.entries(amounts ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** A restart that must wait. */
export interface CrashBackoff {
  /** For the waiting state, e.g. `back-off 10s restarting failed container=web pod=…`. */
  readonly message: string;
  /** When it ends, ms since the epoch. */
  readonly until: number;
}

/**
 * R179: whether a container must wait before its next start, counted from the end of its newest exited instance; if not, the
 * back-off steps. Follows `doBackOff` (pkg/kubelet/kuberuntime/kuberuntime_manager.go).
 */
export function crashBackoff(
  pod: Pod,
  container: Container,
  observed: RuntimePodStatus,
  backoff: BackoffTable,
): CrashBackoff | undefined {
  const ended = observed.containerStatuses.find(
    ({ name, state }) => name === container.name && state === 'exited',
  );
  if (!ended) return undefined;
  const key = backoffKey(pod, container);
  const endedAt = ended.finishedAt ?? 0;
  if (!backoff.isInBackOffSince(key, endedAt)) {
    backoff.next(key, endedAt);
    return undefined;
  }
  const delay = backoff.get(key);
  const message = `back-off ${goDuration(delay)} restarting failed container=${container.name} pod=${podText(pod)}`;
  return { message, until: endedAt + delay };
}
