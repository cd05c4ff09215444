import { join } from 'node:path';
import { messageOf } from '../../../base/errors.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import type { ContainerRuntime } from '../../../provider/container-runtime.ts';
import { ContainerState, PodSandboxState } from '../../../provider/cri-messages.ts';
import type { ActuatedStore } from '../resize/actuated.ts';
import {
  type ContainerGcPolicy,
  containersToCollect,
  type GcContainer,
  type GcPods,
  type GcSandbox,
  sandboxesToCollect,
} from './container-gc-decide.ts';
import type { ContainerRemover } from './container-remover.ts';
import { containerId } from '../config/convert.ts';
import type { RuntimeFiles } from '../../container/files.ts';
import { identityFromLabels } from '../config/labels.ts';
import { podUidFromLogsDirectory } from '../../paths/log-paths.ts';
import type { ContainerKiller } from '../kill.ts';
import { isNotFound } from '../../container/runtime-errors.ts';

export interface ContainerGcDeps {
  readonly runtime: Pick<
    ContainerRuntime,
    'listContainers' | 'listPodSandbox' | 'stopPodSandbox' | 'removePodSandbox'
  >;
  readonly runtimeName: string;
  readonly killer: ContainerKiller;
  readonly remover: ContainerRemover;
  readonly actuated: Pick<ActuatedStore, 'removeOrphans'>;
  readonly files: RuntimeFiles;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly podLogsRoot: string;
  readonly containerLogsRoot?: string;
}

/** ContainerGc removes dead containers, sandboxes and log directories. Follows `containerGC` (pkg/kubelet/kuberuntime). */
export class ContainerGc {
  readonly #deps: ContainerGcDeps;

  constructor(deps: ContainerGcDeps) {
    this.#deps = deps;
  }

  /** Runs one collection. Failed removals are logged and retried in the next. @throws when the runtime's lists fail */
  async collect(policy: ContainerGcPolicy, pods: GcPods, signal?: AbortSignal): Promise<void> {
    const all = await this.#containers(signal);
    const gone = new Set<string>();
    for (const container of containersToCollect(all, policy, pods, this.#deps.clock.now())) {
      await this.#try('container', container.id, () => this.#removeContainer(container, signal));
      gone.add(container.id);
    }
    const sandboxes = await this.#sandboxes(signal);
    const left = gone.size > 0 ? await this.#containers(signal) : all;
    for (const { id } of sandboxesToCollect(sandboxes, left, pods))
      await this.#try('sandbox', id, () => this.#removeSandbox(id, signal));
    if (pods.allSourcesReady) {
      await this.#removeLogFolders(pods);
      this.#deps.actuated.removeOrphans((uid) => pods.shouldPodContentBeRemoved(uid));
    }
    await this.#removeDeadLinks(left);
  }

  /** Removes a container; one in an unknown state is stopped first. */
  async #removeContainer(
    { id, name, unknown }: ListedContainer,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const message = 'Container is in unknown state, try killing it before removal';
    const full = containerId(this.#deps.runtimeName, id);
    if (unknown)
      await this.#deps.killer.killContainer(
        undefined,
        { id: full, name, message, reason: 'Unknown' },
        signal,
      );
    await this.#deps.remover.remove(id, signal);
  }

  /** Stops a sandbox again, in case that it was not stopped, and removes it. */
  async #removeSandbox(id: string, signal: AbortSignal | undefined): Promise<void> {
    const options = signal && { signal };
    try {
      await this.#deps.runtime.stopPodSandbox({ podSandboxId: id }, options);
      await this.#deps.runtime.removePodSandbox({ podSandboxId: id }, options);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason; // already removed
    }
  }

  async #removeLogFolders(pods: GcPods): Promise<void> {
    const { files, podLogsRoot } = this.#deps;
    for (const name of await files.directoriesIn(podLogsRoot))
      if (pods.shouldPodContentBeRemoved(podUidFromLogsDirectory(name)))
        await this.#try('log folder', name, () => files.remove(join(podLogsRoot, name)));
  }

  /** Removes dangling log links, unless the container still runs: then its log is being rotated. */
  async #removeDeadLinks(left: readonly ListedContainer[]): Promise<void> {
    const { files, containerLogsRoot } = this.#deps;
    if (containerLogsRoot === undefined) return;
    const alive = left.filter(({ running, unknown }) => running || unknown);
    for (const name of await files.filesIn(containerLogsRoot)) {
      const link = join(containerLogsRoot, name);
      if (!name.endsWith('.log') || (await files.exists(link))) continue;
      if (alive.some(({ id }) => name.endsWith(`-${id}.log`))) continue;
      await this.#try('log link', name, () => files.remove(link));
    }
  }

  async #try(what: string, name: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (err) {
      this.#deps.logger.error(`${what} could not be removed`, { name, err: messageOf(err) });
    }
  }

  async #containers(signal: AbortSignal | undefined): Promise<ListedContainer[]> {
    const { containers = [] } = await this.#deps.runtime.listContainers({}, signal && { signal });
    return containers.map(({ id = '', podSandboxId: sandboxId = '', labels, state, createdAt = 0 }) => {
      const { podUid, containerName: name } = identityFromLabels(labels);
      const running = state === ContainerState.CONTAINER_RUNNING;
      const unknown = state === ContainerState.CONTAINER_UNKNOWN;
      return { id, podUid, name, sandboxId, running, unknown, createdAt: createdAt / 1e6 };
    });
  }

  async #sandboxes(signal: AbortSignal | undefined): Promise<GcSandbox[]> {
    const { items = [] } = await this.#deps.runtime.listPodSandbox({}, signal && { signal });
    return items.map(({ id = '', metadata, state = 0, createdAt = 0 }) => ({
      id,
      podUid: metadata?.uid ?? '',
      ready: state === PodSandboxState.SANDBOX_READY,
      createdAt: createdAt / 1e6,
    }));
  }
}

interface ListedContainer extends GcContainer {
  readonly unknown: boolean;
}
