import type { Logger } from '../../base/logger.ts';
import type { CallOptions, ContainerRuntime } from '../../provider/container-runtime.ts';
import { ContainerState, type ContainerStatus, type PodSandboxStatus } from '../../provider/cri-messages.ts';
import type {
  RuntimeContainer,
  RuntimeContainerStatus,
  RuntimePod,
  RuntimePodStatus,
} from '../../provider/runtime-pod.ts';
import {
  podIpsOf,
  runtimeId,
  toContainerStatus,
  toRuntimeContainer,
  toSandboxContainer,
  toSandboxStatus,
} from './config/convert.ts';
import type { RuntimeFiles } from '../container/files.ts';
import { identityFromLabels, podUidLabel } from './config/labels.ts';
import type { ActuatedResources } from './actions/pod-actions.ts';
import { demandStatus, isNotFound } from '../container/runtime-errors.ts';
import { joinMessages, type LogTail, terminationMessage } from './termination-message.ts';

export interface ObserverDeps {
  readonly runtime: Pick<
    ContainerRuntime,
    'listPodSandbox' | 'listContainers' | 'podSandboxStatus' | 'containerStatus'
  >;
  readonly runtimeName: string;
  readonly actuated: ActuatedResources;
  readonly files: Pick<RuntimeFiles, 'readEnd'>;
  readonly logTail: LogTail;
  readonly logger: Logger;
}

interface PodRef {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** A pod while the lists of sandboxes and containers are being merged. */
interface ListedPod extends PodRef {
  readonly containers: RuntimeContainer[];
  readonly sandboxes: RuntimeContainer[];
  createdAt: number;
}

type Sandboxes = RuntimePodStatus['sandboxStatuses'];
type Containers = readonly RuntimeContainerStatus[];
interface PodFilter {
  readonly labelSelector: Readonly<Record<string, string>>;
}
/** Up to this number of pods, listing each one costs less than listing all. */
const fewPods = 2;

/** RuntimeObserver reads pods and containers from the runtime. Follows `GetPods` and `GetPodStatus` (pkg/kubelet/kuberuntime). */
export class RuntimeObserver {
  readonly #deps: ObserverDeps;

  constructor(deps: ObserverDeps) {
    this.#deps = deps;
  }

  /** Lists every pod with a sandbox or container, newest first. */
  listPods(options?: CallOptions): Promise<readonly RuntimePod[]> {
    return this.#list({}, options);
  }

  /** Lists these pods, and possibly others: a few are listed one by one, otherwise all are listed. */
  async listSome(uids: readonly string[], options?: CallOptions): Promise<readonly RuntimePod[]> {
    if (uids.length > fewPods) return this.listPods(options);
    const found = await Promise.all(uids.map((uid) => this.#list({ filter: ofPod(uid) }, options)));
    return found.flat();
  }

  async #list(
    request: { readonly filter?: PodFilter },
    options: CallOptions | undefined,
  ): Promise<readonly RuntimePod[]> {
    const { runtime, runtimeName } = this.#deps;
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandbox(request, options),
      runtime.listContainers(request, options),
    ]);
    const pods = new Map<string, ListedPod>();
    const add = (ref: PodRef, kind: 'containers' | 'sandboxes', one: RuntimeContainer): void => {
      const pod = pods.get(ref.uid) ?? { ...ref, containers: [], sandboxes: [], createdAt: Infinity };
      pods.set(ref.uid, pod);
      pod[kind].push(one);
      pod.createdAt = Math.min(pod.createdAt, one.createdAt ?? 0);
    };
    sandboxes.items?.forEach((sandbox) => {
      if (!sandbox.metadata) return; // without metadata its pod is unknown
      const { uid = '', name = '', namespace = '' } = sandbox.metadata;
      add({ uid, name, namespace }, 'sandboxes', toSandboxContainer(sandbox, runtimeName));
    });
    containers.containers?.forEach((container) => {
      if (!container.metadata) return;
      const { podUid: uid, podName: name, podNamespace: namespace } = identityFromLabels(container.labels);
      add({ uid, name, namespace }, 'containers', toRuntimeContainer(container, runtimeName));
    });
    return [...pods.values()].sort((a, b) => b.createdAt - a.createdAt);
  }

  /** Returns all instances of one pod; those that disappear between list and status calls are left out. */
  async getPodStatus(ref: PodRef, options?: CallOptions): Promise<RuntimePodStatus> {
    const listed = await this.#list({ filter: ofPod(ref.uid) }, options);
    const { containers = [], sandboxes = [] } = listed.find(({ uid }) => uid === ref.uid) ?? {};
    return this.getListedPodStatus({ ...ref, containers, sandboxes }, options);
  }

  /** Returns the status of a listed pod; instances that have disappeared since are left out. */
  async getListedPodStatus(listed: RuntimePod, options?: CallOptions): Promise<RuntimePodStatus> {
    const { uid, name, namespace } = listed;
    const [sandboxes, containers] = await Promise.all([
      this.#sandboxes(listed.sandboxes, options),
      this.#containers(listed.containers, options),
    ]);
    const [newest] = sandboxes;
    const active = newest?.state === 'SANDBOX_READY' ? newest : undefined;
    return {
      uid,
      name,
      namespace,
      ips: active ? podIpsOf(active) : [],
      containerStatuses: containers,
      activeContainerStatuses: active
        ? containers.filter(({ podSandboxId }) => podSandboxId === active.id)
        : [],
      sandboxStatuses: sandboxes,
    };
  }

  /** Returns the ids of images that a container mounts; empty when it no longer exists. @param id the runtime's own id */
  async mountedImages(id: string, options?: CallOptions): Promise<readonly string[]> {
    const answer = await orGone(() => this.#deps.runtime.containerStatus({ containerId: id }, options));
    return (answer?.status?.mounts ?? []).flatMap(({ image }) => image?.image ?? []);
  }

  async #sandboxes(
    listed: readonly RuntimeContainer[],
    options: CallOptions | undefined,
  ): Promise<Sandboxes> {
    const { runtime } = this.#deps;
    const newestFirst = listed.toSorted((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0));
    const statuses = await Promise.all(
      newestFirst.map(({ id }) =>
        orGone(async () =>
          demandStatus(
            (await runtime.podSandboxStatus({ podSandboxId: runtimeId(id) }, options)).status,
            'pod sandbox',
          ),
        ),
      ),
    );
    return statuses.filter((status): status is PodSandboxStatus => status !== undefined).map(toSandboxStatus);
  }

  async #containers(
    listed: readonly RuntimeContainer[],
    options: CallOptions | undefined,
  ): Promise<Containers> {
    const { runtime } = this.#deps;
    const statuses = await Promise.all(
      listed.map(({ id, podSandboxId = '' }) =>
        orGone(async () => {
          const { status } = await runtime.containerStatus({ containerId: runtimeId(id) }, options);
          return { ...(await this.#status(demandStatus(status, 'container'))), podSandboxId };
        }),
      ),
    );
    return statuses
      .filter((status): status is NonNullable<typeof status> => status !== undefined)
      .toSorted((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0));
  }

  async #status(status: ContainerStatus): Promise<RuntimeContainerStatus> {
    const { runtimeName, actuated, files, logTail } = this.#deps;
    const { podUid, containerName } = identityFromLabels(status.labels);
    const converted = toContainerStatus(status, runtimeName, actuated.container(podUid, containerName));
    if (status.state !== ContainerState.CONTAINER_EXITED) return converted;
    const own = await terminationMessage(status, files, logTail);
    return { ...converted, message: joinMessages(converted.message, own) };
  }
}

const ofPod = (uid: string): PodFilter => ({ labelSelector: { [podUidLabel]: uid } });

async function orGone<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await look();
  } catch (reason) {
    if (isNotFound(reason)) return undefined;
    throw reason;
  }
}
