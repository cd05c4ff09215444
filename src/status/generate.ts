import { qosClassOf } from '../kube/resources/resources.ts';
import { mayRestartAllContainers } from '../kube/restart-policy.ts';
import type { Pod, PodCondition, PodStatus } from '../kube/types.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import { podAddresses } from './addresses.ts';
import { conditionOf, isOwnCondition, replaceOrAppend } from './condition-list.ts';
import {
  allContainersRestartingCondition,
  containersReadyCondition,
  initializedCondition,
  ownCondition,
  readyAfter,
  readyToStartContainersCondition,
  restartsAllContainers,
} from './conditions.ts';
import { containerStatuses, initAndRegular, type StartFailure } from './container-statuses.ts';
import { hasActiveRegular, podPhase } from './phase.ts';
import { type PodCgroupConfig, podResourceStatus } from './pod-resources.ts';
import { reportedEnd, reportedReason, withReportedConditions, withReportedContainers } from './reported.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';

/** Why a pod has to end whatever its containers do (R207). */
export interface Eviction {
  readonly reason: string;
  readonly message: string;
}

/** Everything that a pod's status is made of. */
export interface GenerateInput {
  /** Spec as allocated, status as the API has it. */
  readonly pod: Pod;
  readonly runtime: RuntimePodStatus;
  /** What the status manager holds; absent: nothing yet. */
  readonly cached?: PodStatus | undefined;
  /** The containers have ended for good (R155h). */
  readonly podIsTerminal: boolean;
  readonly evict?: Eviction | undefined;
  readonly resizeConditions: readonly PodCondition[];
  /** The node's addresses for pods, primary first (`hostIpsOf`). */
  readonly hostIps: readonly string[];
  readonly primaryFamily: 'IPv4' | 'IPv6';
  /** The pod's cgroup as it is; absent: it cannot be read. */
  readonly cgroup?: PodCgroupConfig | undefined;
  /** Whether the pod's runtime handler can make mounts read-only with all below them. */
  supportsRecursiveReadOnly?(): boolean;
  /** Whether the agent runs the pod's probes, and not the backend; default true. */
  readonly probedByAgent?: boolean;
  /** Reason cache: why this container could not start lately. */
  startFailureOf(container: string): StartFailure | undefined;
  /** Fills `started` and `ready` of the containers from the probes' results. */
  withProbeResults(pod: Pod, status: PodStatus): GeneratedStatus;
}

/** A pod's status, and what is to be done because of it. */
export interface GeneratedStatus {
  readonly status: PodStatus;
  /** Names of the containers whose readiness probe is to run at once. */
  readonly probeNow: readonly string[];
}

/**
 * The status of a pod as the API is told it, from what its runtime shows and what was known before. Pure: probing that it calls for is
 * returned. Transition times and the start time are the status manager's.
 *
 * Follows kubelet `generateAPIPodStatus` (R205…R228).
 */
export function generateApiPodStatus(input: GenerateInput): GeneratedStatus {
  const { pod } = input;
  const old = input.cached ?? pod.status ?? {};
  const containers = allContainerStatuses(input, old);
  const outcome = outcomeOf(input, old, containers);
  const { reported } = input.runtime;
  const { status: own, probeNow } = input.withProbeResults(pod, { ...outcome, ...containers });
  const probed = reported ? withReportedContainers(own, reported, input.probedByAgent ?? true) : own;
  const conditions = conditionsOf(input, old, probed);
  const status = {
    ...probed,
    conditions: reported ? withReportedConditions(conditions, reported) : conditions,
    qosClass: qosClassOf(pod),
    ...podAddresses({
      podIps: input.runtime.ips,
      hostIps: reported?.hostIp ? [reported.hostIp] : input.hostIps,
      primaryFamily: input.primaryFamily,
      hostNetwork: pod.spec?.hostNetwork === true,
    }),
    ...podResourceStatus(pod, input.cgroup ?? {}, old),
  };
  return { status, probeNow };
}

type ContainerLists = Pick<
  PodStatus,
  'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses'
>;

function allContainerStatuses(input: GenerateInput, old: PodStatus): ContainerLists {
  const { pod, runtime } = input;
  const restartingAll = restartsAllContainers(pod, old, runtime);
  const startFailureOf = (name: string): StartFailure | undefined => input.startFailureOf(name);
  const supportsRecursiveReadOnly = (): boolean => input.supportsRecursiveReadOnly?.() ?? false;
  const shared = { pod, runtime, restartingAll, supportsRecursiveReadOnly, startFailureOf };
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const initStatuses = containerStatuses({
    ...shared,
    previous: old.initContainerStatuses ?? [],
    containers: initContainers,
    kind: 'init',
  });
  const ephemeralStatuses = containerStatuses({
    ...shared,
    previous: old.ephemeralContainerStatuses ?? [],
    containers: ephemeralContainers,
    kind: 'ephemeral',
  });
  return {
    containerStatuses: containerStatuses({
      ...shared,
      previous: old.containerStatuses ?? [],
      containers,
      kind: 'regular',
    }),
    ...(initStatuses.length > 0 && { initContainerStatuses: initStatuses }),
    ...(ephemeralStatuses.length > 0 && { ephemeralContainerStatuses: ephemeralStatuses }),
  };
}

type Outcome = Pick<PodStatus, 'phase' | 'reason' | 'message'>;

/** The phase and why, in the order of who may say so: containers, what was terminal before, eviction, the API (R205…R207). */
function outcomeOf(input: GenerateInput, old: PodStatus, lists: ContainerLists): Outcome {
  const { pod, runtime, podIsTerminal, evict } = input;
  const apiPhase = pod.status?.phase;
  const podHasInitialized = hasActiveRegular(pod.spec, runtime);
  const computed = podPhase(pod, initAndRegular(lists), { podIsTerminal, podHasInitialized });
  const before = [old.phase, apiPhase].find(isTerminalPhase);
  const ended = reportedEnd(runtime);
  const own = isTerminalPhase(computed) ? computed : (before ?? computed);
  const phase = ended ? (before ?? ended) : own;
  const outcome: Outcome = evict ? { phase: 'Failed', ...evict } : { phase, ...reasonOf(input, old, phase) };
  return isTerminalPhase(apiPhase) ? { ...outcome, phase: apiPhase } : outcome;
}

/** A backend's reason stands for as long as it is reported; any other as R206 says. */
function reasonOf({ pod, runtime }: GenerateInput, old: PodStatus, phase: string): Omit<Outcome, 'phase'> {
  const reported = runtime.reported && reportedReason(runtime.reported);
  if (reported?.reason !== undefined || reported?.message !== undefined) return reported;
  if (phase !== old.phase || (runtime.reported && !isTerminalPhase(phase))) return {};
  return keptReason(old, pod.status);
}

/** R206. */
function keptReason(old: PodStatus, api: PodStatus | undefined): Omit<Outcome, 'phase'> {
  const reason = firstText(old.reason, api?.reason);
  const message = firstText(old.message, api?.message);
  return { ...(reason && { reason }), ...(message && { message }) };
}

const firstText = (...texts: readonly (string | undefined)[]): string | undefined => texts.find(Boolean);

/** What a resize says may be of an older generation; of a pod without generations it is of none. */
const seenAt = (pod: Pod, { observedGeneration, ...condition }: PodCondition): PodCondition =>
  pod.metadata?.generation && observedGeneration ? { observedGeneration, ...condition } : condition;

/** R215: foreign ones first, then ours, in the kubelet's order. */
function conditionsOf(input: GenerateInput, old: PodStatus, status: PodStatus): readonly PodCondition[] {
  const { pod, runtime, resizeConditions } = input;
  const { phase } = status;
  const foreign = (pod.status?.conditions ?? []).filter(({ type }) => !isOwnCondition(type));
  const disruption = conditionOf(old.conditions, 'DisruptionTarget');
  const before = input.podIsTerminal
    ? foreign
    : [...foreign, ...resizeConditions.map((condition) => seenAt(pod, condition))];
  const first = disruption ? replaceOrAppend(before, disruption) : before;
  const all = initAndRegular(status);
  const containersReady = containersReadyCondition(pod, all, phase);
  return [
    ...first,
    readyToStartContainersCondition(pod, runtime),
    initializedCondition(pod, old, all, phase),
    readyAfter(containersReady, pod, first),
    containersReady,
    ownCondition(pod, 'PodScheduled', 'True'),
    ...(pod.spec && mayRestartAllContainers(pod.spec)
      ? [allContainersRestartingCondition(pod, old, runtime, phase)]
      : []),
  ];
}
