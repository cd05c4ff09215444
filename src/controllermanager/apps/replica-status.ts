import { seconds } from '../../apimachinery/times.ts';
import { isActive, isAvailable, isReady, isTerminating } from '../workload/pods.ts';
import { withCondition } from '../../apimachinery/conditions.ts';
import type { Condition, Pod, ReplicaSet } from '../workload/types.ts';

type Status = NonNullable<ReplicaSet['status']>;

/** What a reconcile has found and done. */
export interface ReplicaFindings {
  readonly pods: readonly Pod[];
  /** Labels of the template, which a fully labeled pod has. */
  readonly labels: Readonly<Record<string, string>>;
  readonly minReadySeconds: number;
  /** Why pods could not be created (`FailedCreate`) or deleted (`FailedDelete`). */
  readonly failure?: { readonly reason: 'FailedCreate' | 'FailedDelete'; readonly message: string };
  readonly now: number;
}

/** Returns the status of a ReplicaSet or ReplicationController. */
export function replicaStatus(
  owner: { readonly metadata?: { readonly generation?: number }; readonly status?: Status | undefined },
  { pods, labels, minReadySeconds, failure, now }: ReplicaFindings,
): Status {
  const active = pods.filter(isActive);
  const expected = Object.entries(labels);
  const conditions = failureCondition(owner.status?.conditions, failure, now);
  return {
    replicas: active.length,
    fullyLabeledReplicas: active.filter(({ metadata }) =>
      expected.every(([key, value]) => metadata?.labels?.[key] === value),
    ).length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: active.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
    terminatingReplicas: pods.filter(isTerminating).length,
    observedGeneration: owner.metadata?.generation ?? 0,
    ...(conditions.length > 0 && { conditions }),
  };
}

function failureCondition(
  conditions: readonly Condition[] | undefined,
  failure: ReplicaFindings['failure'],
  now: number,
): Condition[] {
  const rest = (conditions ?? []).filter(({ type }) => type !== 'ReplicaFailure');
  if (!failure) return rest;
  const before = conditions?.find(({ type }) => type === 'ReplicaFailure');
  if (before?.reason === failure.reason) return [...(conditions ?? [])];
  return withCondition<Condition>(rest, {
    type: 'ReplicaFailure',
    status: 'True',
    ...failure,
    lastTransitionTime: seconds(now),
  });
}
