/** Makes the runtime calls of a pod's lifecycle without an agent, as the baseline of the containers bench. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerConfig, KeyValue, Mount, PodSandboxConfig } from '../../src/provider/cri-messages.ts';
import type { CriRuntime } from '../../src/providers/cri/index.ts';

/** The configurations that an agent sent to the runtime. */
export interface Asked {
  /** The image, by the name in the pod. */
  readonly image: string;
  readonly sandbox: PodSandboxConfig;
  readonly container: ContainerConfig;
}

/** The fields whose keys are data, not field names. */
const maps = new Set(['labels', 'annotations', 'sysctls', 'unified']);

/** Renames the fields in Go's JSON of a message (`log_directory`) to the names used here (`logDirectory`). */
function message(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(message);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      maps.has(key) ? inner : message(inner),
    ]),
  );
}

const configOf = (info: Readonly<Record<string, string>> = {}): unknown => {
  const { config } = JSON.parse(info['info'] ?? '{}') as { config?: unknown };
  if (config === undefined) throw new Error('the runtime does not tell what it was asked for');
  return message(config);
};

/** Reads the configurations of a runtime's only pod from containerd's verbose status. */
export async function askedOf(runtime: CriRuntime): Promise<Asked> {
  const { containers = [] } = await runtime.listContainers({});
  const [{ id: containerId = '', podSandboxId = '' } = {}] = containers;
  const sandbox = await runtime.podSandboxStatus({ podSandboxId, verbose: true });
  const container = await runtime.containerStatus({ containerId, verbose: true });
  const config = configOf(container.info) as ContainerConfig;
  return {
    image: container.status?.image?.image ?? '',
    sandbox: configOf(sandbox.info) as PodSandboxConfig,
    container: {
      ...config,
      // Go's JSON has them as strings
      envs: (config.envs ?? []).map(({ key, value }): KeyValue => ({
        ...(key !== undefined && { key }),
        value: Buffer.from(String(value ?? '')),
      })),
    },
  };
}

/** Creates pods with the same calls and the same configuration as an agent, and does nothing else. */
export class BareCalls {
  readonly #runtime: CriRuntime;
  readonly #requests: Asked;
  readonly #cgroup: string;
  readonly #logs: string;
  readonly #live = new Map<string, { readonly sandbox: string; readonly container: string }>();
  readonly #mounts: readonly Mount[];
  #serial = 0;

  /**
   * @param requests the configurations that an agent sent for an equal pod
   * @param cgroup the parent of all these pods
   * @param dir logs, and files for what the agent mounts from its own folder
   */
  constructor(runtime: CriRuntime, requests: Asked, cgroup: string, dir: string) {
    this.#runtime = runtime;
    this.#requests = requests;
    this.#cgroup = cgroup;
    this.#logs = join(dir, 'logs');
    mkdirSync(dir, { recursive: true });
    this.#mounts = (requests.container.mounts ?? []).map((mount, index) => {
      const hostPath = join(dir, `mount-${index}`);
      writeFileSync(hostPath, '127.0.0.1 localhost\n');
      return { ...mount, hostPath };
    });
  }

  /** Makes the calls that a pod's start needs, and reads its status once. @returns the time, ms */
  async create(name: string): Promise<number> {
    const startedAt = performance.now();
    const runtime = this.#runtime;
    const uid = `bare-${this.#serial++}`;
    const { image, sandbox, container } = this.#requests;
    const logDirectory = join(this.#logs, `default_${name}_${uid}`);
    mkdirSync(join(logDirectory, 'main'), { recursive: true });
    const own = { 'io.kubernetes.pod.name': name, 'io.kubernetes.pod.uid': uid };
    const sandboxConfig: PodSandboxConfig = {
      ...sandbox,
      metadata: { ...sandbox.metadata, name, uid },
      hostname: name,
      logDirectory,
      labels: { ...sandbox.labels, ...own },
      linux: { ...sandbox.linux, cgroupParent: this.#cgroup },
    };
    const { podSandboxId = '' } = await runtime.runPodSandbox({ config: sandboxConfig });
    await runtime.podSandboxStatus({ podSandboxId });
    await runtime.imageStatus({ image: { image } });
    const config: ContainerConfig = {
      ...container,
      labels: { ...container.labels, ...own },
      mounts: this.#mounts,
    };
    const { containerId = '' } = await runtime.createContainer({ podSandboxId, config, sandboxConfig });
    await runtime.startContainer({ containerId });
    await runtime.containerStatus({ containerId });
    this.#live.set(name, { sandbox: podSandboxId, container: containerId });
    return performance.now() - startedAt;
  }

  /**
   * Stops a pod with the kubelet's minimum grace of 2 s; the dead containers remain, as until a kubelet's garbage collection.
   * @returns the time until nothing runs, ms
   */
  async remove(name: string): Promise<number> {
    const startedAt = performance.now();
    const { sandbox = '', container = '' } = this.#live.get(name) ?? {};
    await this.#runtime.stopContainer({ containerId: container, timeout: 2 });
    await this.#runtime.stopPodSandbox({ podSandboxId: sandbox });
    await this.#runtime.containerStatus({ containerId: container });
    this.#live.delete(name);
    return performance.now() - startedAt;
  }
}
