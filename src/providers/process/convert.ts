import { ownMember } from '../../base/own.ts';
import {
  ContainerState,
  PodSandboxState,
  type Container,
  type ContainerFilter,
  type ContainerStatus,
  type PodSandbox,
  type PodSandboxFilter,
  type PodSandboxStatus,
} from '../../provider/cri-messages.ts';
import { imageIdOf } from './image-service.ts';
import { imageNameOf } from './launch.ts';
import { userOf } from '../../processes/user.ts';
import type { ProcessContainer } from './process-container.ts';
import type { SandboxRecord } from './record.ts';

const states: Readonly<Record<ProcessContainer['state'], ContainerState>> = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
};

/** Converts a container for `ListContainers`. */
export function toContainer(container: ProcessContainer): Container {
  const { id, sandboxId, config, createdAt } = container.record;
  const imageId = container.record.image?.id ?? imageIdOf(imageNameOf(config));
  return {
    id,
    podSandboxId: sandboxId,
    metadata: config.metadata ?? {},
    image: config.image ?? {},
    imageRef: imageId,
    imageId,
    state: states[container.state],
    createdAt,
    labels: config.labels ?? {},
    annotations: config.annotations ?? {},
  };
}

/** Converts a container for `ContainerStatus`. Its resources are the requested ones; they are not enforced. */
export function toContainerStatus(container: ProcessContainer, uid: number, gid: number): ContainerStatus {
  const { config, image: resolved } = container.record;
  const stopSignal = resolved?.stopSignal ?? config.stopSignal;
  const { podSandboxId: _sandbox, ...listed } = toContainer(container);
  const ended = container.outcome ?? { finishedAt: 0, exitCode: 0, reason: '', message: '' };
  return {
    ...listed,
    image: { image: imageNameOf(config) },
    startedAt: container.startedAt,
    finishedAt: ended.finishedAt,
    exitCode: ended.exitCode,
    reason: ended.reason,
    message: ended.message,
    mounts: config.mounts ?? [],
    logPath: container.record.logPath,
    ...(config.linux?.resources && { resources: { linux: config.linux.resources } }),
    user: { linux: resolved?.user ?? userOf(config.linux?.securityContext ?? {}, { uid, gid }) },
    ...(stopSignal !== undefined && { stopSignal }),
  };
}

/** Returns the state of a sandbox: ready from its creation until it is stopped or the machine reboots. */
export function sandboxState(record: SandboxRecord, bootId: string): PodSandboxState {
  return !record.stopped && record.bootId === bootId
    ? PodSandboxState.SANDBOX_READY
    : PodSandboxState.SANDBOX_NOTREADY;
}

/** Converts a sandbox for `ListPodSandbox`. */
export function toSandbox(record: SandboxRecord, bootId: string): PodSandbox {
  return {
    id: record.id,
    metadata: record.config.metadata ?? {},
    state: sandboxState(record, bootId),
    createdAt: record.createdAt,
    labels: record.config.labels ?? {},
    annotations: record.config.annotations ?? {},
    runtimeHandler: record.runtimeHandler,
  };
}

/** Converts a sandbox for `PodSandboxStatus`, with the requested namespaces and the host's address. */
export function toSandboxStatus(record: SandboxRecord, bootId: string, hostIp: string): PodSandboxStatus {
  const options = record.config.linux?.securityContext?.namespaceOptions ?? {};
  return {
    ...toSandbox(record, bootId),
    network: { ip: hostIp, additionalIps: [] },
    linux: { namespaces: { options } },
  };
}

export function matchesContainer(container: Container, filter: ContainerFilter | undefined): boolean {
  if (!filter) return true;
  return (
    matchesId(container.id, filter.id) &&
    matchesId(container.podSandboxId, filter.podSandboxId) &&
    (filter.state === undefined || (filter.state.state ?? 0) === container.state) &&
    hasLabels(container.labels, filter.labelSelector)
  );
}

export function matchesSandbox(sandbox: PodSandbox, filter: PodSandboxFilter | undefined): boolean {
  if (!filter) return true;
  return (
    matchesId(sandbox.id, filter.id) &&
    (filter.state === undefined || (filter.state.state ?? 0) === sandbox.state) &&
    hasLabels(sandbox.labels, filter.labelSelector)
  );
}

/** True when an id matches; like runtimes, accepts a prefix. */
function matchesId(id: string | undefined, selector: string | undefined): boolean {
  return selector === undefined || selector === '' || (id?.startsWith(selector) ?? false);
}

export function hasLabels(
  labels: Readonly<Record<string, string>> | undefined,
  selector: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(selector ?? {}).every(([key, value]) => ownMember(labels, key) === value);
}
