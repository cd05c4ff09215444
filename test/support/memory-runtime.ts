import { AgentError } from '../../src/base/errors.ts';
import type { ContainerRuntime, ImageService } from '../../src/provider/container-runtime.ts';
import {
  type ContainerConfig,
  ContainerState,
  type ContainerStatus,
  type PodSandboxConfig,
  PodSandboxState,
  type PodSandboxStatus,
} from '../../src/provider/cri-messages.ts';

type Labels = Readonly<Record<string, string>>;

interface Box {
  readonly status: PodSandboxStatus;
  readonly config: PodSandboxConfig;
}

interface Contained {
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  status: ContainerStatus;
}

/** MemoryRuntime is a container runtime that only records calls and container states. Failures are injected by call name, once each. */
export class MemoryRuntime implements ContainerRuntime, ImageService {
  /** The changing calls, in order, in short form. */
  readonly calls: string[] = [];
  readonly sandboxes = new Map<string, Box>();
  readonly containers = new Map<string, Contained>();
  readonly images = new Map<string, { id: string; size: number }>();
  /** Call name → error of its next call. */
  readonly failures = new Map<string, string>();
  readonly #now: () => number;
  readonly #stoppedAt: () => number;
  #serial = 0;

  /**
   * @param now ns since the epoch
   * @param stoppedAt the reported end time of a stopped container. Default: now
   */
  constructor(now: () => number, stoppedAt: () => number = now) {
    this.#now = now;
    this.#stoppedAt = stoppedAt;
  }

  async version(): ReturnType<ContainerRuntime['version']> {
    return { runtimeName: 'memory', runtimeVersion: '1', runtimeApiVersion: 'v1' };
  }

  async status(): ReturnType<ContainerRuntime['status']> {
    return { status: { conditions: [{ type: 'RuntimeReady', status: true }] } };
  }

  async runPodSandbox({
    config = {},
  }: Parameters<ContainerRuntime['runPodSandbox']>[0]): Promise<{ podSandboxId: string }> {
    this.calls.push(`RunPodSandbox attempt=${config.metadata?.attempt ?? 0}`);
    this.#fail('RunPodSandbox');
    const id = this.#id('sandbox');
    const { metadata = {}, labels = {}, annotations = {}, linux } = config;
    const options = linux?.securityContext?.namespaceOptions;
    const status: PodSandboxStatus = {
      id,
      metadata,
      labels,
      annotations,
      state: PodSandboxState.SANDBOX_READY,
      createdAt: this.#now(),
      network: { ip: `10.0.0.${this.#serial}` },
      ...(options && { linux: { namespaces: { options } } }),
    };
    this.sandboxes.set(id, { config, status });
    return { podSandboxId: id };
  }

  async stopPodSandbox({ podSandboxId = '' }: { podSandboxId?: string }): Promise<Record<string, never>> {
    const box = this.#box(podSandboxId);
    this.calls.push(`StopPodSandbox attempt=${box.config.metadata?.attempt ?? 0}`);
    this.#fail('StopPodSandbox');
    this.setSandboxState(podSandboxId, PodSandboxState.SANDBOX_NOTREADY);
    return {};
  }

  async removePodSandbox({ podSandboxId = '' }: { podSandboxId?: string }): Promise<Record<string, never>> {
    this.#fail('RemovePodSandbox');
    this.sandboxes.delete(podSandboxId);
    return {};
  }

  async podSandboxStatus({
    podSandboxId = '',
  }: {
    podSandboxId?: string;
  }): Promise<{ status: PodSandboxStatus }> {
    return { status: this.#box(podSandboxId).status };
  }

  async listPodSandbox({
    filter,
  }: {
    filter?: { labelSelector?: Labels };
  }): ReturnType<ContainerRuntime['listPodSandbox']> {
    const items = [...this.sandboxes.values()].map(({ status }) => status);
    return { items: items.filter(({ labels }) => selected(labels, filter?.labelSelector)) };
  }

  async createContainer({
    podSandboxId = '',
    config = {},
  }: Parameters<ContainerRuntime['createContainer']>[0]): Promise<{ containerId: string }> {
    const { metadata = {}, labels = {}, annotations = {}, image = {} } = config;
    this.calls.push(`CreateContainer ${nameOf(config)}`);
    this.#fail('CreateContainer');
    const id = this.#id('container');
    const status: ContainerStatus = {
      id,
      metadata,
      labels,
      annotations,
      image,
      imageRef: image.image ?? '',
      state: ContainerState.CONTAINER_CREATED,
      createdAt: this.#now(),
    };
    this.containers.set(id, { sandboxId: podSandboxId, config, status });
    return { containerId: id };
  }

  async startContainer({ containerId = '' }: { containerId?: string }): Promise<Record<string, never>> {
    this.calls.push(`StartContainer ${nameOf(this.#contained(containerId).config)}`);
    this.#fail('StartContainer');
    this.change(containerId, { state: ContainerState.CONTAINER_RUNNING, startedAt: this.#now() });
    return {};
  }

  async stopContainer({
    containerId = '',
    timeout = 0,
  }: {
    containerId?: string;
    timeout?: number;
  }): Promise<Record<string, never>> {
    this.calls.push(`StopContainer ${nameOf(this.#contained(containerId).config)} timeout=${timeout}`);
    this.#fail('StopContainer');
    this.change(containerId, { state: ContainerState.CONTAINER_EXITED, finishedAt: this.#stoppedAt() });
    return {};
  }

  async removeContainer({ containerId = '' }: { containerId?: string }): Promise<Record<string, never>> {
    this.calls.push(`RemoveContainer ${nameOf(this.#contained(containerId).config)}`);
    this.#fail('RemoveContainer');
    this.containers.delete(containerId);
    return {};
  }

  async listContainers({
    filter,
  }: {
    filter?: { labelSelector?: Labels };
  }): ReturnType<ContainerRuntime['listContainers']> {
    const all = [...this.containers.values()].map(({ status, sandboxId }) => ({
      ...status,
      podSandboxId: sandboxId,
    }));
    return { containers: all.filter(({ labels }) => selected(labels, filter?.labelSelector)) };
  }

  async containerStatus({
    containerId = '',
  }: {
    containerId?: string;
  }): Promise<{ status: ContainerStatus }> {
    return { status: this.#contained(containerId).status };
  }

  async listImages(): ReturnType<ImageService['listImages']> {
    return { images: [...this.images.values()] };
  }

  async imageStatus({ image }: { image?: { image?: string } }): ReturnType<ImageService['imageStatus']> {
    const found = this.images.get(image?.image ?? '');
    return found ? { image: found } : {};
  }

  async pullImage({ image }: { image?: { image?: string } }): Promise<{ imageRef: string }> {
    this.#fail('PullImage');
    const id = image?.image ?? '';
    this.images.set(id, { id, size: 0 });
    return { imageRef: id };
  }

  async removeImage({ image }: { image?: { image?: string } }): Promise<Record<string, never>> {
    this.#fail('RemoveImage');
    this.images.delete(image?.image ?? '');
    return {};
  }

  async imageFsInfo(): Promise<Record<string, never>> {
    return {};
  }

  /** Changes a container from outside. */
  change(id: string, change: Partial<ContainerStatus>): void {
    const contained = this.#contained(id);
    contained.status = { ...contained.status, ...change };
  }

  setSandboxState(id: string, state: PodSandboxState): void {
    const box = this.#box(id);
    this.sandboxes.set(id, { ...box, status: { ...box.status, state } });
  }

  #fail(call: string): void {
    const text = this.failures.get(call);
    if (text === undefined) return;
    this.failures.delete(call);
    throw new AgentError('internal', text);
  }

  #id(kind: string): string {
    return `${kind}-${++this.#serial}`;
  }

  #box(id: string): Box {
    const box = this.sandboxes.get(id);
    if (box) return box;
    throw new AgentError('not_found', `no sandbox ${id}`);
  }

  #contained(id: string): Contained {
    const contained = this.containers.get(id);
    if (contained) return contained;
    throw new AgentError('not_found', `no container ${id}`);
  }
}

/** `name#attempt` */
export const nameOf = ({ metadata }: ContainerConfig): string =>
  `${metadata?.name ?? ''}#${metadata?.attempt ?? 0}`;

const selected = (labels: Labels | undefined, selector: Labels | undefined): boolean =>
  Object.entries(selector ?? {}).every(([key, value]) => labels?.[key] === value);
