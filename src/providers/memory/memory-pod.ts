import type { Container, Pod } from '../../kube/types.ts';
import type {
  RuntimeContainer,
  RuntimeContainerResources,
  RuntimeContainerStatus,
  RuntimePod,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../provider/runtime-pod.ts';
import type { PodUsage } from '../../provider/usage.ts';
import type { StopTimer } from '../../base/clock.ts';
import type { MemoryBehaviour } from './behaviour.ts';

/** One instance of a container. */
export interface Instance {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly restartCount: number;
  /** ms since the epoch */
  readonly createdAt: number;
  startedAt?: number;
  finishedAt?: number;
  exitCode: number;
  reason: string;
  /** Resources last applied. */
  resources: RuntimeContainerResources;
  /** Timer of its pending start or exit. */
  timer?: StopTimer | undefined;
}

/** A pod record. */
export interface MemoryPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly ip: string;
  /** The pod as last synced. */
  pod: Pod | undefined;
  sandbox: { readonly id: string; readonly attempt: number; readonly createdAt: number; ready: boolean };
  /** Instances grouped by container, newest first. A flat array, as a map would double the memory of a pod. */
  instances: readonly Instance[];
  /** Number of failed starts by container name; absent: none. */
  failedStarts?: Map<string, number>;
  /** Cached listing; reset by each change. */
  listed: RuntimePod | undefined;
}

/** Number of exited instances to keep besides the newest, per container. */
const keptInstances = 2;

/** Returns the newest instance of a container. */
export function newest(record: MemoryPod, name: string): Instance | undefined {
  return record.instances.find((instance) => instance.name === name);
}

/** Returns the newest instance of each container. */
export function newestOfEach({ instances }: MemoryPod): readonly Instance[] {
  return instances.filter(({ name }, at) => instances[at - 1]?.name !== name);
}

export function isLive(instance: Instance | undefined): boolean {
  return instance !== undefined && instance.finishedAt === undefined;
}

/** Number of instances from which on lookups use a map; below, an array saves memory with thousands of pods. */
const manyInstances = 32;

/** Returns {@link newest} for repeated lookups. */
export function newestByName(record: MemoryPod): (name: string) => Instance | undefined {
  if (record.instances.length < manyInstances) return (name) => newest(record, name);
  const byName = new Map(newestOfEach(record).map((instance) => [instance.name, instance]));
  return (name) => byName.get(name);
}

/** Lives indexes a pod's instances while its containers start, so that a start does not depend on their number. */
export class Lives {
  readonly record: MemoryPod;
  readonly #byName: Map<string, readonly Instance[]>;
  #isChanged = false;

  constructor(record: MemoryPod) {
    this.record = record;
    this.#byName = Map.groupBy(record.instances, ({ name }) => name);
  }

  newest(name: string): Instance | undefined {
    return this.#byName.get(name)?.[0];
  }

  /** Adds an instance, and drops the oldest ones of its container. */
  add(instance: Instance): void {
    const older = this.#byName.get(instance.name) ?? [];
    this.#byName.set(instance.name, [instance, ...older.slice(0, keptInstances)]);
    this.#isChanged = true;
  }

  /** Stores the instances in the pod's record. @returns true when there are new ones */
  keep(): boolean {
    // slice() drops the spare capacity of a grown array, which adds up over thousands of pods.
    if (this.#isChanged) this.record.instances = [...this.#byName.values()].flat().slice();
    return this.#isChanged;
  }
}

/** Yields the containers that may start: init containers in order, including sidecars; then all others. */
export function* startable(lives: Lives, { spec }: Pod): Generator<Container> {
  const { initContainers = [], containers = [], restartPolicy = 'Always' } = spec ?? {};
  for (const init of initContainers) {
    if (mayStartInit(init, lives, restartPolicy)) yield init;
    if (!isSidecar(init) && !isPast(init, lives)) return;
  }
  for (const container of containers)
    if (mayStart(lives.newest(container.name), restartPolicy)) yield container;
}

const mayStartInit = (init: Container, lives: Lives, policy: string): boolean =>
  !isPast(init, lives) && mayStart(lives.newest(init.name), policyOf(init, policy));

/** Turns true for an init container that runs along with the regular ones. */
export const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

const policyOf = (init: Container, policy: string): string =>
  isSidecar(init) ? 'Always' : onFailure(policy);

/** True when an init container no longer blocks later ones: it succeeded, or is a started sidecar. */
const isPast = (init: Container, lives: Lives): boolean =>
  !isSidecar(init) && hasSucceeded(lives.newest(init.name));

function mayStart(last: Instance | undefined, policy: string): boolean {
  if (last?.finishedAt === undefined) return last === undefined;
  return policy === 'Always' || (policy === 'OnFailure' && last.exitCode !== 0);
}

/** Returns the restart policy of an init container: after success it never restarts. */
function onFailure(policy: string): string {
  return policy === 'Never' ? policy : 'OnFailure';
}

function hasSucceeded(last: Instance | undefined): boolean {
  return last?.finishedAt !== undefined && last.exitCode === 0;
}

/** Returns the pod for a listing. */
export function toRuntimePod(record: MemoryPod): RuntimePod {
  const containers = record.instances.map(toRuntimeContainer);
  const { id, createdAt, ready } = record.sandbox;
  return {
    uid: record.uid,
    name: record.name,
    namespace: record.namespace,
    createdAt,
    containers,
    sandboxes: [{ id, name: '', state: ready ? 'running' : 'exited', createdAt }],
  };
}

/** Returns the status of the pod. */
export function toPodStatus(record: MemoryPod, observedAt: number): RuntimePodStatus {
  const containerStatuses = record.instances.map(toStatus);
  const sandbox: RuntimeSandboxStatus = {
    id: record.sandbox.id,
    state: record.sandbox.ready ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
    attempt: record.sandbox.attempt,
    createdAt: record.sandbox.createdAt,
    networkMode: 'POD',
    network: { ip: record.ip },
  };
  return {
    uid: record.uid,
    name: record.name,
    namespace: record.namespace,
    ips: [record.ip],
    containerStatuses,
    activeContainerStatuses: record.sandbox.ready ? containerStatuses : [],
    sandboxStatuses: [sandbox],
    observedAt,
  };
}

/** Returns the usage of the pod's running containers by their behaviour; `undefined` when none runs. */
export function toUsage(
  record: MemoryPod,
  behaviours: (pod: Pod) => (container: string) => Pick<MemoryBehaviour, 'memoryBytes' | 'diskBytes'>,
  at: number,
): PodUsage | undefined {
  const { uid, name, namespace, pod } = record;
  const running = record.instances.filter((one) => stateOf(one) === 'running');
  if (!pod || running.length === 0) return undefined;
  const behaviour = behaviours(pod);
  const containers = running.map((one) => {
    const { memoryBytes, diskBytes } = behaviour(one.name);
    return {
      id: one.id,
      name: one.name,
      at,
      workingSetBytes: memoryBytes,
      memoryBytes,
      rootfsBytes: diskBytes,
      rootfsInodes: 1,
      ...(one.startedAt !== undefined && { startedAt: one.startedAt }),
    };
  });
  return { uid, name, namespace, containers };
}

function stateOf(instance: Instance): RuntimeContainer['state'] {
  if (instance.finishedAt !== undefined) return 'exited';
  return instance.startedAt === undefined ? 'created' : 'running';
}

function toRuntimeContainer(instance: Instance): RuntimeContainer {
  const { id, name, image, createdAt } = instance;
  return { id, name, image, imageId: image, createdAt, state: stateOf(instance) };
}

/** Most pods of a scale run have the same image, so its text is shared. */
let lastImage = { image: '', id: 'memory:' };

function imageIdOf(image: string): string {
  if (image !== lastImage.image) lastImage = { image, id: `memory:${image}` };
  return lastImage.id;
}

function toStatus(instance: Instance): RuntimeContainerStatus {
  const { startedAt, finishedAt, image } = instance;
  return {
    id: instance.id,
    name: instance.name,
    state: stateOf(instance),
    createdAt: instance.createdAt,
    ...(startedAt !== undefined && { startedAt }),
    ...(finishedAt !== undefined && { finishedAt }),
    exitCode: instance.exitCode,
    image,
    imageId: imageIdOf(image),
    imageRef: imageIdOf(image),
    hash: 0,
    restartCount: instance.restartCount,
    reason: instance.reason,
    message: '',
    ...(Object.keys(instance.resources).length > 0 && { resources: instance.resources }),
  };
}

/** Returns an address of 10.0.0.0/8 for a serial number. */
export function addressOf(serial: number): string {
  const n = (serial % 0xffff00) + 1;
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}
