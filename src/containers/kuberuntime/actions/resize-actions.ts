import { milliValueOf, parseQuantity, valueOf } from '../../../kube/resources/quantity.ts';
import { uidOf } from '../../../kube/names.ts';
import { resizableContainers } from '../../../kube/resources/pod-resources.ts';
import type { Container, Pod, ResourceRequirements } from '../../../kube/types.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../provider/runtime-pod.ts';
import type {
  ActionInputs,
  PodActions,
  ResourceNumbers,
  ActuatedResources,
  ContainerUpdate,
} from './pod-actions.ts';
import { newestStatus } from './find.ts';

type Level = ResourceRequirements | undefined;

/** A container without a limit of its own, or with one of zero, is held by the pod's. */
function numbersOf(own: Level, pod: Level): ResourceNumbers {
  const { limits, requests } = own ?? {};
  const whole = pod?.limits;
  return {
    memoryLimit: bytes(limits?.['memory']) || bytes(whole?.['memory']),
    memoryRequest: bytes(requests?.['memory']),
    cpuLimitMilli: milli(limits?.['cpu']) || milli(whole?.['cpu']),
    cpuRequestMilli: milli(requests?.['cpu']),
  };
}

const bytes = (text: string | undefined): number => (text === undefined ? 0 : valueOf(parseQuantity(text)));
const milli = (text: string | undefined): number =>
  text === undefined ? 0 : milliValueOf(parseQuantity(text));

/** Whether the pod-level resources differ from those last applied. */
export function podLevelResized(pod: Pod, inputs: ActionInputs): boolean {
  const { wanted, current } = podLevel(pod, inputs);
  return !same(numbersOf(wanted, undefined), numbersOf(current, undefined));
}

/** Pod-level resources wanted and applied; neither while their resize is switched off. */
function podLevel(pod: Pod, { actuated, features }: ActionInputs): { wanted: Level; current: Level } {
  if (features?.['InPlacePodLevelResourcesVerticalScaling'] === false)
    return { wanted: undefined, current: undefined };
  return { wanted: pod.spec?.resources, current: actuated.pod(uidOf(pod)) };
}

const same = (a: ResourceNumbers, b: ResourceNumbers): boolean =>
  a.memoryLimit === b.memoryLimit &&
  a.memoryRequest === b.memoryRequest &&
  a.cpuLimitMilli === b.cpuLimitMilli &&
  a.cpuRequestMilli === b.cpuRequestMilli;

interface ResizeCandidate {
  readonly pod: Pod;
  readonly container: Container;
  readonly status: RuntimeContainerStatus;
  readonly inputs: ActionInputs;
}

/**
 * Notes the in-place resize of one running container, or, where its resize policy says so, that it must restart
 * (`startAgain`). Answers whether the container stays. Follows `computePodResizeAction`.
 */
export function computeResize(
  { pod, container, status, inputs }: ResizeCandidate,
  actions: PodActions,
  startAgain: () => void,
): boolean {
  const whole = podLevel(pod, inputs);
  const applied = inputs.actuated.container(uidOf(pod), container.name);
  if (applied === container.resources && whole.wanted === whole.current) return true; // the common case, without arithmetic
  const desired = numbersOf(container.resources, whole.wanted);
  const current = numbersOf(applied, whole.current);
  if (same(desired, current)) return true;
  const cpu = firstChange(
    desired.cpuLimitMilli,
    current.cpuLimitMilli,
    desired.cpuRequestMilli,
    current.cpuRequestMilli,
  );
  const memory = firstChange(
    desired.memoryLimit,
    current.memoryLimit,
    desired.memoryRequest,
    current.memoryRequest,
  );
  const { id, name } = status;
  if ((cpu && needsRestart(container, 'cpu')) || (memory && needsRestart(container, 'memory'))) {
    actions.containersToKill.set(id, {
      id,
      name,
      message: `Container ${container.name} resize requires restart`,
      reason: '',
    });
    startAgain();
    actions.updatePodResources = true;
    return false;
  }
  const update = { id, name: container.name, desired, current };
  note(actions.containersToUpdate.memory, update, memory);
  note(actions.containersToUpdate.cpu, update, cpu);
  return true;
}

/** The limit's change if it changed, else the request's; 0: neither. */
const firstChange = (limit: number, limitNow: number, request: number, requestNow: number): number =>
  limit !== limitNow ? limit - limitNow : request - requestNow;

const needsRestart = ({ resizePolicy }: Container, resource: 'cpu' | 'memory'): boolean =>
  resizePolicy?.find(({ resourceName }) => resourceName === resource)?.restartPolicy === 'RestartContainer';

/**
 * Do running containers, or the pod as a whole, still have other CPU or memory than the spec says? What does not run is started with the
 * right ones. Follows `IsPodResizeInProgress`.
 */
export function isResizeInProgress(
  pod: Pod,
  observed: RuntimePodStatus,
  actuated: ActuatedResources,
): boolean {
  const uid = uidOf(pod);
  const { resources } = pod.spec ?? {};
  if (resources && !same(numbersOf(resources, undefined), numbersOf(actuated.pod(uid), undefined)))
    return newestRunning(observed, pod).length > 0;
  return newestRunning(observed, pod).some(
    (container) =>
      !same(
        numbersOf(container.resources, undefined),
        numbersOf(actuated.container(uid, container.name), undefined),
      ),
  );
}

const newestRunning = (observed: RuntimePodStatus, pod: Pod): readonly Container[] =>
  resizableContainers(pod).filter(({ name }) => newestStatus(observed, name)?.state === 'running');

/** Decreases go first, so that the node never has to give more than the pods will hold. */
function note(updates: ContainerUpdate[], update: ContainerUpdate, change: number): void {
  if (change > 0) updates.push(update);
  else if (change < 0) updates.unshift(update);
}
