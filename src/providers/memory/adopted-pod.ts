import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Container, ContainerStatus, Pod } from '../../kube/types.ts';
import type { Instance, MemoryPod } from './memory-pod.ts';
import { resourcesOf } from './resizing.ts';

/**
 * Returns the record of a pod as its status describes it, so that its containers continue after the process that ran them is gone;
 * `undefined` for a pod whose containers never started, or that has ended.
 *
 * @param sandboxId for the sandbox, which the status does not name
 */
export function recordOfStatus(pod: Pod, sandboxId: string): MemoryPod | undefined {
  const { podIP, startTime, phase } = pod.status ?? {};
  if (podIP === undefined || phase === 'Succeeded' || phase === 'Failed') return undefined;
  const createdAt = timeOf(startTime) ?? 0;
  const instances = instancesOf(pod, createdAt);
  if (instances.length === 0) return undefined;
  return {
    uid: uidOf(pod),
    name: nameOf(pod),
    namespace: namespaceOf(pod),
    ip: podIP,
    pod,
    sandbox: { id: sandboxId, attempt: 0, createdAt, ready: true },
    instances,
    listed: undefined,
  };
}

function instancesOf({ status = {}, spec }: Pod, createdAt: number): readonly Instance[] {
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return containers.flatMap((container) => {
    const found = statuses.find(({ name }) => name === container.name);
    return found ? (instanceOf(container, found, createdAt) ?? []) : [];
  });
}

/** Returns the container's newest instance; `undefined` when none was started. */
function instanceOf(container: Container, status: ContainerStatus, createdAt: number): Instance | undefined {
  const { state = {}, lastState = {}, restartCount } = status;
  const { running } = state;
  const ended = running ? undefined : (state.terminated ?? lastState.terminated);
  const startedAt = timeOf((running ?? ended)?.startedAt);
  const id = ended?.containerID ?? status.containerID ?? `memory://${container.name}`;
  if (startedAt === undefined) return undefined;
  return {
    id,
    name: container.name,
    image: container.image ?? '',
    restartCount,
    createdAt: Math.max(createdAt, startedAt),
    startedAt,
    ...endOf(ended),
    resources: resourcesOf(container),
    timer: undefined,
  };
}

function endOf(
  ended: NonNullable<ContainerStatus['state']>['terminated'],
): Pick<Instance, 'exitCode' | 'reason' | 'finishedAt'> {
  if (!ended) return { exitCode: 0, reason: '' };
  const finishedAt = timeOf(ended.finishedAt);
  const { exitCode, reason = '' } = ended;
  return { exitCode, reason, ...(finishedAt !== undefined && { finishedAt }) };
}

function timeOf(text: string | undefined): number | undefined {
  const at = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
