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

/** Returns the numbers of a container; a limit that is absent or zero is taken from the pod. */
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

/** True when the pod-level resources differ from those last applied. */
export function podLevelResized(pod: Pod, inputs: ActionInputs): boolean {
  const { desired, current } = podLevel(pod, inputs);
  return !same(numbersOf(desired, undefined), numbersOf(current, undefined));
}

/** Returns the desired and applied pod-level resources; both `undefined` while the feature gate for resizing them is off. */
function podLevel(pod: Pod, { actuated, features }: ActionInputs): { desired: Level; current: Level } {
  if (features?.['InPlacePodLevelResourcesVerticalScaling'] === false)
    return { desired: undefined, current: undefined };
  return { desired: pod.spec?.resources, current: actuated.pod(uidOf(pod)) };
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
 * Adds the in-place resize of a running container to the actions or, where its resize policy requires it, its restart
 * (`startAgain`). Returns whether the container keeps running. Follows `computePodResizeAction`.
 */
export function computeResize(
  { pod, container, status, inputs }: ResizeCandidate,
  actions: PodActions,
  startAgain: () => void,
): boolean {
  const whole = podLevel(pod, inputs);
  const applied = inputs.actuated.container(uidOf(pod), container.name);
  if (applied === container.resources && whole.desired === whole.current) return true; // the common case, without arithmetic
  const desired = numbersOf(container.resources, whole.desired);
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

/** Returns the change of the limit or, when it is 0, of the request. */
const firstChange = (limit: number, limitNow: number, request: number, requestNow: number): number =>
  limit !== limitNow ? limit - limitNow : request - requestNow;

const needsRestart = ({ resizePolicy }: Container, resource: 'cpu' | 'memory'): boolean =>
  resizePolicy?.find(({ resourceName }) => resourceName === resource)?.restartPolicy === 'RestartContainer';

/**
 * True while running containers, or the pod as a whole, have other CPU or memory than the spec; containers that do not run start with
 * the right ones. Follows `IsPodResizeInProgress`.
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

/** Adds an update, decreases first, so that the pods never exceed what they finally hold. */
function note(updates: ContainerUpdate[], update: ContainerUpdate, change: number): void {
  if (change > 0) updates.push(update);
  else if (change < 0) updates.unshift(update);
}
