import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { ContainerRuntime } from '../../../provider/container-runtime.ts';
import { podFromLabels } from '../config/labels.ts';
import type { RuntimeFiles } from '../../container/files.ts';
import { legacyLogName } from '../../paths/log-paths.ts';
import { isNotFound } from '../../container/runtime-errors.ts';

export interface ContainerRemoverDeps {
  readonly runtime: Pick<ContainerRuntime, 'containerStatus' | 'removeContainer'>;
  readonly files: RuntimeFiles;
  readonly logger: Logger;
  readonly containerLogsRoot?: string;
}

/** ContainerRemover removes dead containers and their logs (`removeContainer`, pkg/kubelet/kuberuntime). */
export class ContainerRemover {
  readonly #deps: ContainerRemoverDeps;
  /** Removals in progress, by the runtime's own id. They are shared, as runtimes reject a concurrent second removal. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(deps: ContainerRemoverDeps) {
    this.#deps = deps;
  }

  /** Removes a container and its logs. @param id the runtime's own id; succeeds when it does not exist, and joins a removal in progress */
  remove(id: string, signal?: AbortSignal): Promise<void> {
    return this.#once(id, async () => {
      const options = signal && { signal };
      const { status } = await this.#deps.runtime.containerStatus({ containerId: id }, options);
      if (status?.logPath) await this.#removeLogs(status.logPath);
      await this.#removeLink(id, status?.labels);
      await this.#deps.runtime.removeContainer({ containerId: id }, options);
    });
  }

  /** Removes a container but keeps its logs until the pod is removed. */
  removeWithoutLogs(id: string, signal?: AbortSignal): Promise<void> {
    return this.#once(id, async () => {
      await this.#deps.runtime.removeContainer({ containerId: id }, signal && { signal });
    });
  }

  async #once(id: string, remove: () => Promise<void>): Promise<void> {
    let removal = this.#underWay.get(id);
    if (!removal) {
      removal = remove().finally(() => this.#underWay.delete(id));
      this.#underWay.set(id, removal);
    }
    try {
      await removal;
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  }

  /** Removes the log and its rotated parts: `0.log`, `0.log.20260101-000000`, `….gz`. */
  async #removeLogs(path: string): Promise<void> {
    const { files } = this.#deps;
    const [folder, name] = [dirname(path), basename(path)];
    for (const file of await files.filesIn(folder))
      if (file === name || file.startsWith(`${name}.`)) await files.remove(join(folder, file));
  }

  async #removeLink(id: string, labels: Readonly<Record<string, string>> | undefined): Promise<void> {
    const { files, containerLogsRoot, logger } = this.#deps;
    if (containerLogsRoot === undefined) return;
    const { pod, containerName } = podFromLabels(labels);
    await files
      .remove(join(containerLogsRoot, legacyLogName(id, containerName, pod)))
      .catch((err: unknown) => {
        logger.warn('link to a container log could not be removed', { container: id, err: messageOf(err) });
      });
  }
}
