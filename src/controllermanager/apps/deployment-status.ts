import { seconds } from '../../apimachinery/times.ts';
import { nameOf } from '../workload/objects.ts';
import type { Condition, Deployment, ReplicaSet } from '../workload/types.ts';
import { limitsOf, desiredReplicas } from './deployment-rollout.ts';

export type Status = NonNullable<Deployment['status']>;

/** Reasons of the condition `Progressing`. */
export const reasons = {
  created: 'NewReplicaSetCreated',
  found: 'FoundNewReplicaSet',
  updated: 'ReplicaSetUpdated',
  available: 'NewReplicaSetAvailable',
  timedOut: 'ProgressDeadlineExceeded',
  failedCreate: 'ReplicaSetCreateError',
  paused: 'DeploymentPaused',
  resumed: 'DeploymentResumed',
} as const;

/** How far a rollout is. */
export interface Rollout {
  readonly sets: readonly ReplicaSet[];
  readonly fresh: ReplicaSet | undefined;
  readonly now: number;
}

type New = Omit<Condition, 'lastTransitionTime' | 'lastUpdateTime'>;

/** Returns the conditions with one set (`SetDeploymentCondition`): nothing changes for the same status and reason. */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  set: New,
  now: number,
): Condition[] {
  const all = [...(conditions ?? [])];
  const before = all.find(({ type }) => type === set.type);
  if (before?.status === set.status && before.reason === set.reason) return all;
  const time = seconds(now);
  const since = before?.status === set.status ? (before.lastTransitionTime ?? time) : time;
  return [
    ...all.filter(({ type }) => type !== set.type),
    { ...set, lastUpdateTime: time, lastTransitionTime: since },
  ];
}

export const conditionOf = (status: Status | undefined, type: string): Condition | undefined =>
  status?.conditions?.find((one) => one.type === type);

/** No deadline at all is the largest number. */
export const hasDeadline = ({ spec }: Deployment): boolean =>
  spec?.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== 2 ** 31 - 1;

/** Returns the numbers of a status, and the condition `Available`. */
export function statusOf(deployment: Deployment, { sets, fresh, now }: Rollout): Status {
  const sum = (of: (status: NonNullable<ReplicaSet['status']>) => number | undefined): number =>
    sets.reduce((total, { status }) => total + ((status && of(status)) ?? 0), 0);
  const replicas = sum((status) => status.replicas);
  const available = sum((status) => status.availableReplicas);
  const desired = sets.reduce((total, { spec }) => total + (spec?.replicas ?? 0), 0);
  const enough = available >= desiredReplicas(deployment) - limitsOf(deployment).unavailable;
  const conditions = setCondition(
    deployment.status?.conditions,
    enough
      ? {
          type: 'Available',
          status: 'True',
          reason: 'MinimumReplicasAvailable',
          message: 'Deployment has minimum availability.',
        }
      : {
          type: 'Available',
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        },
    now,
  );
  return {
    observedGeneration: deployment.metadata?.generation ?? 0,
    replicas,
    updatedReplicas: fresh?.status?.replicas ?? 0,
    readyReplicas: sum((status) => status.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, desired - available),
    terminatingReplicas: sum((status) => status.terminatingReplicas),
    ...(deployment.status?.collisionCount !== undefined && {
      collisionCount: deployment.status.collisionCount,
    }),
    conditions,
  };
}

/** True once all pods are of the new template and available. */
export const isComplete = (deployment: Deployment, status: Status): boolean =>
  status.updatedReplicas === desiredReplicas(deployment) &&
  status.replicas === desiredReplicas(deployment) &&
  status.availableReplicas === desiredReplicas(deployment) &&
  (status.observedGeneration ?? 0) >= (deployment.metadata?.generation ?? 0);

function isProgressing({ status: before = {} }: Deployment, status: Status): boolean {
  const old = (one: Status): number => (one.replicas ?? 0) - (one.updatedReplicas ?? 0);
  const grows = (key: 'updatedReplicas' | 'readyReplicas' | 'availableReplicas'): boolean =>
    (status[key] ?? 0) > (before[key] ?? 0);
  return (
    grows('updatedReplicas') ||
    old(status) < old(before) ||
    grows('readyReplicas') ||
    grows('availableReplicas')
  );
}

/** Returns when the progress deadline passes, ms; undefined: there is none, or the rollout is complete. */
export function deadlineOf(deployment: Deployment, status: Status | undefined): number | undefined {
  const condition = conditionOf(status, 'Progressing');
  if (!hasDeadline(deployment) || !condition || condition.reason === reasons.available) return undefined;
  return Date.parse(condition.lastUpdateTime ?? '') + (deployment.spec?.progressDeadlineSeconds ?? 0) * 1000;
}

const isTimedOut = (deployment: Deployment, status: Status, now: number): boolean => {
  if (conditionOf(status, 'Progressing')?.reason === reasons.timedOut) return true;
  const deadline = deadlineOf(deployment, status);
  return deadline !== undefined && now > deadline;
};

/** Returns the status during a rollout: with `Progressing` and `ReplicaFailure`. */
export function rolloutStatus(deployment: Deployment, rollout: Rollout): Status {
  const status = statusOf(deployment, rollout);
  const current = conditionOf(deployment.status, 'Progressing');
  const wasComplete = status.replicas === status.updatedReplicas && current?.reason === reasons.available;
  let conditions = [...(status.conditions ?? [])] as Condition[];
  if (!hasDeadline(deployment)) conditions = conditions.filter(({ type }) => type !== 'Progressing');
  else if (!wasComplete) conditions = progressed(deployment, status, rollout);
  const failure = rollout.sets
    .flatMap((set) => (set.status?.conditions ?? []) as Condition[])
    .filter(({ type }) => type === 'ReplicaFailure')
    .at(-1);
  conditions = failure
    ? setCondition(conditions, { ...failure }, rollout.now)
    : conditions.filter(({ type }) => type !== 'ReplicaFailure');
  return { ...status, conditions };
}

function progressed(deployment: Deployment, status: Status, { fresh, now }: Rollout): Condition[] {
  const subject = fresh ? `ReplicaSet "${nameOf(fresh)}"` : `Deployment "${nameOf(deployment)}"`;
  const condition = (status: string, reason: string, what: string): New => ({
    ...{ type: 'Progressing', status, reason },
    message: `${subject} ${what}`,
  });
  const { conditions = [] } = status;
  const before = conditionOf(status, 'Progressing');
  if (isComplete(deployment, status))
    return setCondition(
      conditions,
      condition('True', reasons.available, 'has successfully progressed.'),
      now,
    );
  if (isProgressing(deployment, status)) {
    const next = condition('True', reasons.updated, 'is progressing.');
    const time = seconds(now);
    const since = before?.status === 'True' ? (before.lastTransitionTime ?? time) : time;
    return [
      ...conditions.filter(({ type }) => type !== 'Progressing'),
      { ...next, lastUpdateTime: time, lastTransitionTime: since },
    ];
  }
  return isTimedOut(deployment, status, now)
    ? setCondition(conditions, condition('False', reasons.timedOut, 'has timed out progressing.'), now)
    : [...conditions];
}
