/** The runtime's calls of pods' lives, made by hand: what an agent is measured against. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerConfig, KeyValue, Mount, PodSandboxConfig } from '../../src/provider/cri-messages.ts';
import type { CriRuntime } from '../../src/providers/cri/index.ts';

/** What an agent asked the runtime for. */
export interface Asked {
  /** The image by the name that the pod has for it. */
  readonly image: string;
  readonly sandbox: PodSandboxConfig;
  readonly container: ContainerConfig;
}

/** Here keys are data, not fields. */
const maps = new Set(['labels', 'annotations', 'sysctls', 'unified']);

/** Go's JSON of a message (`log_directory`) with the names of fields that the messages have here (`logDirectory`). */
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

/** What the one pod that a runtime has was asked for with; containerd tells it when asked for more. */
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
      // Go's JSON has them as text
      envs: (config.envs ?? []).map(({ key, value }): KeyValue => ({
        ...(key !== undefined && { key }),
        value: Buffer.from(String(value ?? '')),
      })),
    },
  };
}

/** Pods made by the same calls, with the same configuration, as an agent makes them; nothing else is done. */
export class BareCalls {
  readonly #runtime: CriRuntime;
  readonly #asked: Asked;
  readonly #cgroup: string;
  readonly #logs: string;
  readonly #live = new Map<string, { readonly sandbox: string; readonly container: string }>();
  readonly #mounts: readonly Mount[];
  #serial = 0;

  /**
   * @param asked what an agent asked for, for a pod of the same make
   * @param cgroup the parent of all these pods
   * @param dir logs, and files for what the agent mounts from its own folder
   */
  constructor(runtime: CriRuntime, asked: Asked, cgroup: string, dir: string) {
    this.#runtime = runtime;
    this.#asked = asked;
    this.#cgroup = cgroup;
    this.#logs = join(dir, 'logs');
    mkdirSync(dir, { recursive: true });
    this.#mounts = (asked.container.mounts ?? []).map((mount, index) => {
      const hostPath = join(dir, `mount-${index}`);
      writeFileSync(hostPath, '127.0.0.1 localhost\n');
      return { ...mount, hostPath };
    });
  }

  /** What a pod's start cannot do without, and one look at what came of it. @returns ms */
  async create(name: string): Promise<number> {
    const startedAt = performance.now();
    const runtime = this.#runtime;
    const uid = `bare-${this.#serial++}`;
    const { image, sandbox, container } = this.#asked;
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
   * Until nothing runs, with the two seconds that the kubelet gives at least; what is dead stays, as it does until a kubelet collects it.
   * @returns ms
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
