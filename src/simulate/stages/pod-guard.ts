import { tableOf } from '../../base/own.ts';
import type { Pod, PodStatus } from '../../kube/types.ts';

/** The verdict on a status that a stage would set. */
export interface GuardedStatus {
  /** The status as it may be sent; absent: none of it. */
  readonly status?: PodStatus;
  /** Why a part is left out or changed. */
  readonly problem?: string;
}

const ranks: Readonly<Record<string, number>> = tableOf({
  Pending: 0,
  Running: 1,
  Unknown: 1,
  Succeeded: 2,
  Failed: 2,
});

const rankOf = (phase = 'Pending'): number => ranks[phase] ?? 0;

const isTerminal = (phase: string | undefined): boolean => rankOf(phase) === 2;

/**
 * Holds a status by a stage to the kubelet's laws: a phase never goes back, a pod that has ended does not change its phase, and a pod is
 * Ready only while its init containers are past and all of its containers run. Pure.
 *
 * @param next the whole status as the stage would leave it
 */
export function guardPodStatus({ spec, status }: Pod, next: PodStatus): GuardedStatus {
  const { phase = 'Pending' } = next;
  const before = status?.phase ?? 'Pending';
  if (rankOf(phase) < rankOf(before) || (isTerminal(before) && phase !== before))
    return { problem: `the phase may not go from ${before} back to ${phase}` };
  const waiting = unreadyContainers(spec, next);
  const { conditions: claimed = [] } = next;
  const claims = claimed.some((one) => isReadiness(one.type) && one.status === 'True');
  if (!claims || waiting.length === 0) return { status: next };
  const message = `containers with unready status: [${waiting.join(' ')}]`;
  const conditions = claimed.map((one) =>
    isReadiness(one.type) && one.status === 'True'
      ? { ...one, status: 'False', reason: 'ContainersNotReady', message }
      : one,
  );
  return {
    status: { ...next, conditions },
    problem: `the pod is not Ready: ${message}`,
  };
}

const isReadiness = (type: string): boolean => type === 'Ready' || type === 'ContainersReady';

/** Returns the containers that keep the pod from being ready: init containers that are not past, and containers that do not run. */
function unreadyContainers(spec: Pod['spec'], status: PodStatus): readonly string[] {
  const init = (spec?.initContainers ?? []).filter(({ name, restartPolicy }) => {
    const found = status.initContainerStatuses?.find((one) => one.name === name);
    if (restartPolicy === 'Always') return found?.state?.running === undefined;
    return found?.state?.terminated?.exitCode !== 0;
  });
  const regular = (spec?.containers ?? []).filter(({ name }) => {
    const found = status.containerStatuses?.find((one) => one.name === name);
    return found?.state?.running === undefined || !found.ready;
  });
  return [...init, ...regular].map(({ name }) => name);
}
