import { tableOf } from '../../../base/own.ts';
import type { ContainerStatus, Pod, PodCondition, PodSpec, PodStatus } from '../../../kube/types.ts';
import { isOwnCondition, isSharedCondition, updateCondition } from '../../../status/condition-list.ts';
import {
  allContainersRestartingCondition,
  containersReadyCondition,
  initializedCondition,
  needsReadinessReconcile,
  readyCondition,
  readyToStartContainersCondition,
} from '../../../status/conditions.ts';
import { isPodStatusByKubeletEqual } from '../../../status/equal.ts';
import { mergePodStatus } from '../../../status/merge.ts';
import { normalizeStatus } from '../../../status/normalize.ts';
import { hasPodInitialized, illegalTransition, triedToStart } from '../../../status/transitions.ts';
import { apiOptionalKeys } from '../compare.ts';
import { check, type Replay } from '../recording.ts';
import { type RecordedContainer, type RecordedSandbox, runtimeStatusOf } from '../support/pod-view.ts';

const now = '2000-01-01T00:00:00Z';

interface ConditionsInput {
  readonly pod: Pod;
  readonly oldStatus: PodStatus;
  readonly conditions: readonly PodCondition[] | null;
  readonly containerStatuses?: readonly ContainerStatus[] | null;
  readonly phase?: string;
  readonly runtime: {
    readonly containers?: readonly RecordedContainer[] | null;
    readonly sandboxes?:
      readonly (RecordedSandbox & { readonly network?: RecordedSandbox['networkMode'] })[] | null;
  };
}

function generateConditions(input: ConditionsInput): Readonly<Record<string, PodCondition>> {
  const { pod, oldStatus, phase } = input;
  const statuses = input.containerStatuses ?? undefined;
  const runtime = runtimeStatusOf({
    containerStatuses: (input.runtime.containers ?? []).map((c) => ({ ...c, id: c.name })),
    sandboxStatuses: (input.runtime.sandboxes ?? []).map(({ network, ...s }) => ({
      ...s,
      ...(network && { networkMode: network }),
      hasNetworkStatus: s.ip !== undefined,
    })),
  });
  return {
    AllContainersRestarting: allContainersRestartingCondition(pod, oldStatus, runtime, phase),
    ContainersReady: containersReadyCondition(pod, statuses, phase),
    Initialized: initializedCondition(pod, oldStatus, statuses, phase),
    PodReadyToStartContainers: readyToStartContainersCondition(pod, runtime),
    Ready: readyCondition(pod, input.conditions ?? [], statuses, phase),
  };
}

type Input = Readonly<Record<string, unknown>> & {
  readonly pod: Pod;
  readonly spec: PodSpec;
  readonly old: PodStatus;
  readonly new: PodStatus;
  readonly status: PodStatus;
  readonly oldStatus: PodStatus;
  readonly newStatus: PodStatus;
  readonly condition: PodCondition;
  readonly couldHaveRunningContainers?: boolean;
};

const functions: Readonly<Partial<Record<string, (input: Input) => unknown>>> = tableOf({
  mergePodStatus: (i) =>
    mergePodStatus(i.pod, i.oldStatus, i.newStatus, {
      couldHaveRunningContainers: i.couldHaveRunningContainers ?? false,
      now,
    }),
  normalizeStatus: ({ pod, status }) => normalizeStatus(pod, status),
  isPodStatusByKubeletEqual: (i) => isPodStatusByKubeletEqual(i.old, i.new),
  needToReconcilePodReadiness: ({ pod }) => needsReadinessReconcile(pod),
  checkContainerStateTransition: (i) => {
    const error = illegalTransition(i.old, i.new, i.spec);
    return { allowed: error === undefined, error };
  },
  hasPodInitialized: ({ pod }) => ({
    initialized: hasPodInitialized(pod),
    initializedContainers: triedToStart(pod.status?.initContainerStatuses ?? []),
  }),
  updatePodCondition: ({ status, condition }) => updateCondition(status, condition, now),
  conditionOwnership: (type) => ({
    byKubelet: isOwnCondition(type as unknown as string),
    shared: isSharedCondition(type as unknown as string),
  }),
  generateConditions: (input) => generateConditions(input as unknown as ConditionsInput),
});

export const replay: Replay = (line) => {
  const run = functions[line['fn'] as string];
  if (!run) throw new Error(`no function ${String(line['fn'])}`);
  return check(
    line['out'],
    run(line['in'] as Input),
    { operation: line['fn'] },
    { optionalKeys: apiOptionalKeys },
  );
};
