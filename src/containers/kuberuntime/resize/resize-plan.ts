import type { PodCgroupConfig } from '../../../kube/cgroup.ts';
import type { PodActions, ContainerUpdate, ResourceNumbers } from '../actions/pod-actions.ts';
import { aggregate } from '../../container/runtime-errors.ts';

/** CPU and memory limits of a pod's cgroup; an absent member is unlimited, or left unchanged. */
export type PodCgroupLimits = Partial<
  Pick<PodCgroupConfig, 'cpuShares' | 'cpuQuota' | 'cpuPeriod' | 'memory'>
>;

/** Current and desired limits of the pod's cgroup. */
export interface PodCgroupChange {
  readonly current: PodCgroupLimits;
  readonly desired: PodCgroupLimits;
}

/** One step of a resize. */
export type ResizeStep =
  | { readonly type: 'pod'; readonly limits: PodCgroupLimits }
  | { readonly type: 'container'; readonly update: ContainerUpdate; readonly resources: ResourceNumbers };

type Updates = Pick<PodActions, 'containersToUpdate' | 'updatePodResources' | 'updatePodLevelResources'>;

/** True when anything is to be resized. */
export const resizes = ({ containersToUpdate, ...pod }: Updates): boolean =>
  pod.updatePodResources ||
  pod.updatePodLevelResources ||
  containersToUpdate.cpu.length > 0 ||
  containersToUpdate.memory.length > 0;

/**
 * Returns the steps of a resize in order: memory, then CPU; the pod's cgroup grows before its containers and shrinks after them, so that no
 * container ever exceeds its pod.
 *
 * Follows `doPodResizeAction` (pkg/kubelet/kuberuntime).
 *
 * @param cgroup absent: the pod has no cgroup of its own
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
 * Returns the limits of the pod's cgroup to raise before containers start: a container that did not run during the resize, or that was
 * stopped for it, starts with its new resources. With cgroup v1 the kernel rejects a CPU quota above the pod's, and the start would fail.
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

/** Returns the memory steps of the pod's cgroup; a limit that the spec no longer has is kept, as limits cannot be removed in place. */
function memorySteps({ current, desired }: PodCgroupChange = unchanged): PodSteps {
  const { memory } = desired;
  return memory === undefined ? none : inOrder(podStep({ memory }), memory - (current.memory ?? Infinity));
}

/** Returns the CPU steps of the pod's cgroup: limits before requests when they grow, after them when they shrink. */
function cpuSteps(cgroup: PodCgroupChange | undefined): PodSteps {
  const [quota, shares] = [quotaStep(cgroup), sharesStep(cgroup)];
  return { before: [...quota.before, ...shares.before], after: [...shares.after, ...quota.after] };
}

/** Returns the step of the CPU quota. No quota is -1, as in the kernel; a quota that the spec no longer has is kept. */
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

/** Memory usage of a pod's containers by name, and of the whole pod; bytes. */
export interface MemoryInUse {
  /** Usage of the pod; absent when it cannot be read. */
  readonly pod?: number;
  readonly containers: ReadonlyMap<string, number>;
}

/** True when a memory limit shrinks; its usage must be read first then. */
export const shrinksMemory = (updates: Updates, cgroup: PodCgroupChange | undefined): boolean =>
  podMemoryShrinks(updates, cgroup) || shrinkingContainers(updates).length > 0;

/**
 * Returns why memory limits must not shrink: the usage is above the new limit, and the kernel would OOM-kill; `undefined` when they may.
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
      // The kubelet prints the pod's usage in this message as well.
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

/** Returns updates with a shrinking limit; no limit counts as the largest. */
const shrinkingContainers = ({ containersToUpdate }: Updates): readonly ContainerUpdate[] =>
  containersToUpdate.memory.filter(
    ({ desired, current }) =>
      desired.memoryLimit !== 0 && (current.memoryLimit === 0 || desired.memoryLimit < current.memoryLimit),
  );
