import { quotaToMilliCpu, sharesToMilliCpu } from '../../../kube/cgroup.ts';
import { milliValueOf, parseQuantity, valueOf } from '../../../kube/resources/quantity.ts';
import type { Pod, ResourceRequirements } from '../../../kube/types.ts';
import {
  type Container,
  ContainerState,
  type ContainerStatus,
  type LinuxContainerResources,
  NamespaceMode,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStatus,
} from '../../../provider/cri-messages.ts';
import type {
  RuntimeContainer,
  RuntimeContainerResources,
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePod,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../../provider/runtime-pod.ts';
import { identityFromLabels, recordFromAnnotations } from './labels.ts';

/** Formats a container ID of the API: `type://id`. */
export const containerId = (runtimeName: string, id: string): string => `${runtimeName}://${id}`;

/** Returns the runtime's own id of a container ID; an id without a type is returned unchanged. */
export function runtimeId(id: string): string {
  const at = id.indexOf('://');
  return at < 0 ? id : id.slice(at + 3);
}

const states: Readonly<Partial<Record<ContainerState, RuntimeContainerState>>> = {
  [ContainerState.CONTAINER_CREATED]: 'created',
  [ContainerState.CONTAINER_RUNNING]: 'running',
  [ContainerState.CONTAINER_EXITED]: 'exited',
  [ContainerState.CONTAINER_UNKNOWN]: 'unknown',
};

/** Converts a state; values that newer runtimes may add become `unknown`. */
const stateOf = (state: ContainerState | undefined): RuntimeContainerState => states[state ?? 0] ?? 'unknown';

/** Converts nanoseconds since the epoch to milliseconds. */
const millis = (nanos: number | undefined): number => (nanos ?? 0) / 1e6;

/**
 * Converts a CRI container status: identity from labels, hash and restart count from annotations; exit code, end and
 * messages only of an exited one. Follows `toKubeContainerStatus` (pkg/kubelet/kuberuntime).
 *
 * @param actuated resources last applied by the runtime, if known
 */
export function toContainerStatus(
  status: ContainerStatus,
  runtimeName: string,
  actuated?: ResourceRequirements,
): RuntimeContainerStatus {
  const { hash, restartCount } = recordFromAnnotations(status.annotations);
  const resources = withActuated(toResources(status.resources?.linux), actuated);
  return {
    id: containerId(runtimeName, status.id ?? ''),
    name: identityFromLabels(status.labels).containerName,
    ...courseOf(status),
    ...imageOf(status),
    hash,
    restartCount,
    ...(resources && { resources }),
    ...userOf(status),
    ...mountsOf(status),
  };
}

/** Returns the state and the members that depend on it. */
function courseOf(
  status: ContainerStatus,
): Pick<
  RuntimeContainerStatus,
  'state' | 'createdAt' | 'startedAt' | 'finishedAt' | 'exitCode' | 'reason' | 'message'
> {
  const state = stateOf(status.state);
  const { exitCode = 0, reason = '', message = '' } = status;
  return {
    state,
    createdAt: millis(status.createdAt),
    ...(state !== 'created' && { startedAt: millis(status.startedAt) }),
    ...(state === 'exited'
      ? { finishedAt: millis(status.finishedAt), exitCode, reason, message }
      : { exitCode: 0, reason: '', message: '' }),
  };
}

function imageOf({
  image,
  imageId,
  imageRef = '',
}: ContainerStatus): Pick<RuntimeContainerStatus, 'image' | 'imageId' | 'imageRef' | 'imageRuntimeHandler'> {
  const handler = image?.runtimeHandler;
  return {
    image: image?.image ?? '',
    imageId: nonEmpty(imageId) ?? imageRef,
    imageRef,
    ...(handler && { imageRuntimeHandler: handler }),
  };
}

function userOf({ user }: ContainerStatus): Pick<RuntimeContainerStatus, 'user'> {
  if (!user?.linux) return {};
  const { uid = 0, gid = 0, supplementalGroups } = user.linux;
  return { user: { uid, gid, ...(supplementalGroups && { supplementalGroups }) } };
}

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

const mountsOf = ({ mounts }: ContainerStatus): Pick<RuntimeContainerStatus, 'mounts'> =>
  mounts
    ? {
        mounts: mounts.map(({ containerPath = '', readonly, recursiveReadOnly }) => ({
          containerPath,
          ...(readonly !== undefined && { readonly }),
          ...(recursiveReadOnly !== undefined && { recursiveReadOnly }),
        })),
      }
    : {};

/** Converts CPU and memory of the status; `undefined` when the runtime does not report them (`toKubeContainerResources`). */
function toResources(linux: LinuxContainerResources | undefined): RuntimeContainerResources | undefined {
  if (!linux) return undefined;
  const { cpuPeriod = 0, cpuQuota = 0, cpuShares = 0, memoryLimitInBytes = 0 } = linux;
  const cpuRequest = sharesToMilliCpu(cpuShares);
  const cpuLimit = cpuPeriod > 0 ? quotaToMilliCpu(cpuQuota, cpuPeriod) : 0;
  const resources: RuntimeContainerResources = {
    ...(cpuRequest > 0 && { cpuRequest }),
    ...(cpuLimit > 0 && { cpuLimit }),
    ...(memoryLimitInBytes > 0 && { memoryLimit: memoryLimitInBytes }),
  };
  return Object.keys(resources).length > 0 ? resources : undefined;
}

/** Fills in actuated resources: CRI has no memory request, and some runtimes report nothing. */
function withActuated(
  reported: RuntimeContainerResources | undefined,
  actuated: ResourceRequirements | undefined,
): RuntimeContainerResources | undefined {
  if (!actuated) return reported;
  const { requests, limits } = actuated;
  const memoryRequest = bytes(requests?.['memory']);
  if (reported) return memoryRequest > 0 ? { ...reported, memoryRequest } : reported;
  return {
    cpuRequest: milli(requests?.['cpu']),
    cpuLimit: milli(limits?.['cpu']),
    memoryRequest,
    memoryLimit: bytes(limits?.['memory']),
  };
}

const bytes = (text: string | undefined): number => (text === undefined ? 0 : valueOf(parseQuantity(text)));
const milli = (text: string | undefined): number =>
  text === undefined ? 0 : milliValueOf(parseQuantity(text));

/** Converts a container of a listing (`toKubeContainer`). */
export function toRuntimeContainer(container: Container, runtimeName: string): RuntimeContainer {
  return {
    id: containerId(runtimeName, container.id ?? ''),
    name: identityFromLabels(container.labels).containerName,
    state: stateOf(container.state),
    image: container.image?.image ?? '',
    imageId: nonEmpty(container.imageId) ?? container.imageRef ?? '',
    hash: recordFromAnnotations(container.annotations).hash,
    createdAt: millis(container.createdAt),
    podSandboxId: container.podSandboxId ?? '',
  };
}

/** Converts a sandbox of a listing to a container: ready becomes running, not ready exited (`sandboxToKubeContainer`). */
export const toSandboxContainer = (sandbox: PodSandbox, runtimeName: string): RuntimeContainer => ({
  id: containerId(runtimeName, sandbox.id ?? ''),
  name: '',
  state: sandboxReady(sandbox.state) ? 'running' : 'exited',
  createdAt: millis(sandbox.createdAt),
});

const sandboxReady = (state: PodSandboxState | undefined): boolean =>
  (state ?? 0) === PodSandboxState.SANDBOX_READY;

const networkModes: Readonly<Record<NamespaceMode, RuntimeSandboxStatus['networkMode']>> = {
  [NamespaceMode.POD]: 'POD',
  [NamespaceMode.CONTAINER]: 'CONTAINER',
  [NamespaceMode.NODE]: 'NODE',
  [NamespaceMode.TARGET]: 'POD',
};

/** Converts a sandbox status; without namespace information the sandbox has a network of its own. */
export const toSandboxStatus = (status: PodSandboxStatus): RuntimeSandboxStatus => ({
  id: status.id ?? '',
  state: sandboxReady(status.state) ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
  attempt: status.metadata?.attempt ?? 0,
  createdAt: millis(status.createdAt),
  networkMode: networkModes[status.linux?.namespaces?.options?.network ?? NamespaceMode.POD],
  ...networkOf(status),
});

function networkOf({ network }: PodSandboxStatus): Pick<RuntimeSandboxStatus, 'network'> {
  if (!network) return {};
  const additionalIps = (network.additionalIps ?? []).map(({ ip = '' }) => ip);
  return { network: { ip: network.ip ?? '', ...(additionalIps.length > 0 && { additionalIps }) } };
}

/** Returns the pod's addresses, primary first; empty on the host network, where the pod has the node's (`determinePodSandboxIPs`). */
export function podIpsOf(
  sandbox: RuntimeSandboxStatus,
  hostNetwork: boolean = sandbox.networkMode === 'NODE',
): string[] {
  if (hostNetwork || !sandbox.network) return [];
  return [sandbox.network.ip, ...(sandbox.network.additionalIps ?? [])].filter((ip) => ip !== '');
}

/** Returns the part of an observed pod that still runs, in the form that a kill takes (`ConvertPodStatusToRunningPod`). */
export function runningPodOf(pod: Pod, observed: RuntimePodStatus, runtimeName: string): RuntimePod {
  return {
    uid: observed.uid,
    name: pod.metadata?.name ?? observed.name,
    namespace: pod.metadata?.namespace ?? observed.namespace,
    containers: observed.containerStatuses.filter(({ state }) => state === 'running'),
    sandboxes: observed.sandboxStatuses.map(({ id, state }) => ({
      id: containerId(runtimeName, id),
      name: '',
      state: state === 'SANDBOX_READY' ? 'running' : 'exited',
    })),
  };
}
