import type { PodCgroupConfig } from '../../../kube/cgroup.ts';
import type { PodActions, ContainerUpdate, ResourceNumbers } from '../actions/pod-actions.ts';
import { aggregate } from '../../container/runtime-errors.ts';

/** CPU and memory of a pod's cgroup; an absent member is not limited, or left as it is. */
export type PodCgroupLimits = Partial<
  Pick<PodCgroupConfig, 'cpuShares' | 'cpuQuota' | 'cpuPeriod' | 'memory'>
>;

/** The pod's cgroup as it is, and as it has to be. */
export interface PodCgroupChange {
  readonly current: PodCgroupLimits;
  readonly desired: PodCgroupLimits;
}

/** One write of a resize. */
export type ResizeStep =
  | { readonly type: 'pod'; readonly limits: PodCgroupLimits }
  | { readonly type: 'container'; readonly update: ContainerUpdate; readonly resources: ResourceNumbers };

type Updates = Pick<PodActions, 'containersToUpdate' | 'updatePodResources' | 'updatePodLevelResources'>;

/** Is anything to be resized? */
export const resizes = ({ containersToUpdate, ...pod }: Updates): boolean =>
  pod.updatePodResources ||
  pod.updatePodLevelResources ||
  containersToUpdate.cpu.length > 0 ||
  containersToUpdate.memory.length > 0;

/**
 * The writes of a resize in order: memory, then CPU; the pod's cgroup grows before its containers and shrinks after them, so that no
 * container ever has more than its pod.
 *
 * Follows `doPodResizeAction` (pkg/kubelet/kuberuntime).
 *
 * @param cgroup absent: the pod has none of its own
 */
export function resizePlan(updates: Updates, cgroup: PodCgroupChange | undefined): readonly ResizeStep[] {
  const { cpu, memory } = updates.containersToUpdate;
  const whole = updates.updatePodResources || updates.updatePodLevelResources;
  const podSteps = (touched: boolean, steps: PodSteps): PodSteps =>
    cgroup && (touched || whole) ? steps : none;
  const memoryOfPod = podSteps(memory.length > 0, memorySteps(cgroup));
  const cpuOfPod = podSteps(cpu.length > 0, cpuSteps(cgroup));
  const resized = new Set(memory.map(({ id }) => id));
  return [
    ...memoryOfPod.before,
    ...memory.map((update) => containerStep(update, withMemory(update))),
    ...memoryOfPod.after,
    ...cpuOfPod.before,
    ...cpu.map((update) => containerStep(update, withCpu(update, resized.has(update.id)))),
    ...cpuOfPod.after,
  ];
}

/**
 * What the pod's cgroup has too little of for what starts in it next: a container that did not run when the pod was resized, or that was
 * ended for it, starts with its new resources. With cgroup v1 the kernel gives it no more CPU than the pod has, and it would not start.
 */
export function growth({ current, desired }: PodCgroupChange): PodCgroupLimits {
  const grows = (limit: 'memory' | 'cpuQuota'): boolean => {
    const [now = 0, then = 0] = [current[limit], desired[limit]];
    return now > 0 && then > now;
  };
  const { memory, cpuQuota, cpuPeriod } = desired;
  return {
    ...(memory !== undefined && grows('memory') && { memory }),
    ...(cpuQuota !== undefined &&
      grows('cpuQuota') && { cpuQuota, ...(cpuPeriod !== undefined && { cpuPeriod }) }),
  };
}

interface PodSteps {
  readonly before: readonly ResizeStep[];
  readonly after: readonly ResizeStep[];
}

const none: PodSteps = { before: [], after: [] };

const podStep = (limits: PodCgroupLimits): ResizeStep => ({ type: 'pod', limits });

const containerStep = (update: ContainerUpdate, resources: ResourceNumbers): ResizeStep => ({
  type: 'container',
  update,
  resources,
});

/** A limit that nobody wants any more stays: limits cannot be removed in place. */
function memorySteps({ current, desired }: PodCgroupChange = unchanged): PodSteps {
  const { memory } = desired;
  return memory === undefined ? none : inOrder(podStep({ memory }), memory - (current.memory ?? Infinity));
}

/** Limits grow before requests, and shrink after them. */
function cpuSteps(cgroup: PodCgroupChange | undefined): PodSteps {
  const [quota, shares] = [quotaStep(cgroup), sharesStep(cgroup)];
  return { before: [...quota.before, ...shares.before], after: [...shares.after, ...quota.after] };
}

/** No quota counts as -1, as the kernel writes it; one that nobody wants any more stays. */
function quotaStep({ current, desired }: PodCgroupChange = unchanged): PodSteps {
  const { cpuQuota, cpuPeriod } = desired;
  if (cpuQuota === undefined) return none;
  const step = podStep({ cpuQuota, ...(cpuPeriod !== undefined && { cpuPeriod }) });
  return inOrder(step, cpuQuota - (current.cpuQuota ?? -1));
}

function sharesStep({ current, desired }: PodCgroupChange = unchanged): PodSteps {
  const { cpuShares } = desired;
  if (cpuShares === undefined || current.cpuShares === undefined) return none;
  return inOrder(podStep({ cpuShares }), cpuShares - current.cpuShares);
}

const unchanged: PodCgroupChange = { current: {}, desired: {} };

const inOrder = (step: ResizeStep, change: number): PodSteps => ({
  before: change > 0 ? [step] : [],
  after: change < 0 ? [step] : [],
});

const withMemory = ({ current, desired }: ContainerUpdate): ResourceNumbers => ({
  ...current,
  memoryLimit: desired.memoryLimit,
  memoryRequest: desired.memoryRequest,
});

const withCpu = ({ current, desired }: ContainerUpdate, memoryIsDone: boolean): ResourceNumbers => ({
  ...(memoryIsDone ? desired : current),
  cpuLimitMilli: desired.cpuLimitMilli,
  cpuRequestMilli: desired.cpuRequestMilli,
});

/** What the containers of a pod use, by name, and all of it; bytes. */
export interface MemoryInUse {
  /** Absent: it cannot be read. */
  readonly pod?: number;
  readonly containers: ReadonlyMap<string, number>;
}

/** Does any memory limit shrink? Then what is used has to be known first. */
export const shrinksMemory = (updates: Updates, cgroup: PodCgroupChange | undefined): boolean =>
  podMemoryShrinks(updates, cgroup) || shrinkingContainers(updates).length > 0;

/**
 * Why memory limits must not shrink: more is in use, and the kernel would end containers for it; `undefined`: they may.
 *
 * Follows `validateMemoryResizeAction`.
 */
export function memoryFault(
  updates: Updates,
  cgroup: PodCgroupChange | undefined,
  used: MemoryInUse,
): string | undefined {
  const faults: string[] = [];
  const podLimit = cgroup?.desired.memory ?? 0;
  if (podMemoryShrinks(updates, cgroup)) {
    if (used.pod === undefined) faults.push('missing pod memory usage');
    else if (used.pod >= podLimit)
      faults.push(`attempting to set pod memory limit (${podLimit}) below current usage (${used.pod})`);
  }
  for (const { name, desired } of shrinkingContainers(updates)) {
    const own = used.containers.get(name);
    if (own === undefined) faults.push(`missing container "${name}" memory usage`);
    else if (own >= desired.memoryLimit)
      // the kubelet prints the pod's usage here, too
      faults.push(
        `attempting to set container "${name}" memory limit (${desired.memoryLimit}) below current usage (${used.pod ?? own})`,
      );
  }
  return faults.length === 0 ? undefined : `cannot decrease memory limits: ${aggregate(faults)}`;
}

const touchesMemory = ({ containersToUpdate, ...pod }: Updates): boolean =>
  containersToUpdate.memory.length > 0 || pod.updatePodResources || pod.updatePodLevelResources;

const podMemoryShrinks = (updates: Updates, cgroup: PodCgroupChange | undefined): boolean =>
  touchesMemory(updates) &&
  cgroup?.desired.memory !== undefined &&
  cgroup.desired.memory < (cgroup.current.memory ?? Infinity);

/** A container without a limit has more than one with any. */
const shrinkingContainers = ({ containersToUpdate }: Updates): readonly ContainerUpdate[] =>
  containersToUpdate.memory.filter(
    ({ desired, current }) =>
      desired.memoryLimit !== 0 && (current.memoryLimit === 0 || desired.memoryLimit < current.memoryLimit),
  );
