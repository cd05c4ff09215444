import { fnv1a32 } from '../../base/fnv.ts';
import { goDuration } from '../../kube/duration.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { RuntimePodStatus } from '../../provider/runtime-pod.ts';

/** The per-key back-off of container restarts and image pulls; implemented in `base/backoff.ts`. */
export interface BackoffTable {
  get(key: string): number;
  next(key: string, eventAt: number): void;
  isInBackOffSince(key: string, eventAt: number): boolean;
  isInBackOffSinceUpdate(key: string, eventAt: number): boolean;
  gc(): void;
}

/** Formats a pod for messages: `name_namespace(uid)` (kubelet `format.Pod`). */
export const podText = (pod: Pod): string => `${nameOf(pod)}_${namespaceOf(pod)}(${uidOf(pod)})`;

/**
 * Returns the key of a container's crash back-off; another image or other resources give a new key, and so a new back-off (R179,
 * `GetBackoffKey`).
 */
export function backoffKey(pod: Pod, container: Container): string {
  const { image = '', resources } = container;
  const hash = fnv1a32(JSON.stringify([image, sorted(resources?.requests), sorted(resources?.limits)]));
  return [nameOf(pod), namespaceOf(pod), uidOf(pod), container.name, hash.toString(16)].join('_');
}

const sorted = (amounts: Readonly<Record<string, string>> | undefined): readonly (readonly string[])[] =>
  Object.entries(amounts ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** A pending back-off before a container restart. */
export interface CrashBackoff {
  /** Message of the waiting state, such as `back-off 10s restarting failed container=web pod=…`. */
  readonly message: string;
  /** End of the back-off, ms since the epoch. */
  readonly until: number;
}

/**
 * Decides whether a container must wait before its next start, counted from the end of its newest exited instance; otherwise increases
 * the back-off (R179). Follows `doBackOff` (pkg/kubelet/kuberuntime/kuberuntime_manager.go).
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
