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

/** The reason and message of an eviction, which ends the pod whatever its containers do (R207). */
export interface Eviction {
  readonly reason: string;
  readonly message: string;
}

/** The inputs of {@link generateApiPodStatus}. */
export interface GenerateInput {
  /** The pod with its allocated spec and with the status from the API. */
  readonly pod: Pod;
  readonly runtime: RuntimePodStatus;
  /** The status manager's newest status; absent when it has none. */
  readonly cached?: PodStatus | undefined;
  /** True when all containers have ended and none will be restarted (R155h). */
  readonly podIsTerminal: boolean;
  readonly evict?: Eviction | undefined;
  readonly resizeConditions: readonly PodCondition[];
  /** The node's addresses for pods, primary first (`hostIpsOf`). */
  readonly hostIps: readonly string[];
  readonly primaryFamily: 'IPv4' | 'IPv6';
  /** The current settings of the pod's cgroup; absent when they cannot be read. */
  readonly cgroup?: PodCgroupConfig | undefined;
  /** Whether the pod's runtime handler supports recursive read-only mounts. */
  supportsRecursiveReadOnly?(): boolean;
  /** Whether the agent, rather than the backend, runs the pod's probes. Default true. */
  readonly probedByAgent?: boolean;
  /** Why the last start of this container failed, from the reason cache. */
  startFailureOf(container: string): StartFailure | undefined;
  /** Sets `started` and `ready` of the containers from the probe results. */
  withProbeResults(pod: Pod, status: PodStatus): GeneratedStatus;
}

/** A generated pod status, and the probes that it calls for. */
export interface GeneratedStatus {
  readonly status: PodStatus;
  /** The names of the containers whose readiness probe should run at once. */
  readonly probeNow: readonly string[];
}

/**
 * Generates the API status of a pod from its runtime status and its previous status. Pure: the probes that should run at once are returned,
 * not run. The status manager sets transition times and the start time.
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

/**
 * The phase with its reason and message. Later sources override earlier ones: containers, an earlier terminal phase, eviction, the API
 * (R205…R207).
 */
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

/** The reason and message: those of the backend for as long as it reports them, else the retained ones (R206). */
function reasonOf({ pod, runtime }: GenerateInput, old: PodStatus, phase: string): Omit<Outcome, 'phase'> {
  const reported = runtime.reported && reportedReason(runtime.reported);
  if (reported?.reason !== undefined || reported?.message !== undefined) return reported;
  if (phase !== old.phase || (runtime.reported && !isTerminalPhase(phase))) return {};
  return retainedReason(old, pod.status);
}

/** The reason and message that are carried over from the previous status or from the API (R206). */
function retainedReason(old: PodStatus, api: PodStatus | undefined): Omit<Outcome, 'phase'> {
  const reason = firstText(old.reason, api?.reason);
  const message = firstText(old.message, api?.message);
  return { ...(reason && { reason }), ...(message && { message }) };
}

const firstText = (...texts: readonly (string | undefined)[]): string | undefined => texts.find(Boolean);

/** The condition of a resize, which may be of an older generation; without `observedGeneration` when the pod has no generation. */
const seenAt = (pod: Pod, { observedGeneration, ...condition }: PodCondition): PodCondition =>
  pod.metadata?.generation && observedGeneration ? { observedGeneration, ...condition } : condition;

/** The conditions of the status: those of other writers first, then the kubelet's in its order (R215). */
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
