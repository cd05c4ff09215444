/** The source files of a project of the contract `container`; `__TYPE__` stands for the class, `__NAME__` for the provider. */
export const containerTemplates = {
  'src/provider.ts': `import { AgentError } from 'podtender';
import {
  ContainerState,
  PodSandboxState,
  type Container,
  type ContainerRuntime,
  type ContainerStatus,
  type ImageService,
  type PodSandboxStatus,
} from 'podtender/provider';

type Calls = ContainerRuntime & ImageService;
type Request<Name extends keyof Calls> = Parameters<NonNullable<Calls[Name]>>[0];
type Response<Name extends keyof Calls> = ReturnType<NonNullable<Calls[Name]>>;

/**
 * Runs containers as records. Replace the records by calls of your runtime. A pod is a sandbox with containers; the agent decides which of
 * them start and stop. Labels and annotations must be stored and listed as they came: the agent finds its pods by them after a restart.
 */
export class __TYPE__ implements ContainerRuntime, ImageService {
  readonly #sandboxes = new Map<string, PodSandboxStatus>();
  readonly #containers = new Map<string, ContainerStatus & { readonly podSandboxId: string }>();
  readonly #images = new Set<string>();

  async version(): Response<'version'> {
    return { version: '0.1.0', runtimeName: '__NAME__', runtimeVersion: '0.0.1', runtimeApiVersion: 'v1' };
  }

  /** The node is ready while both conditions are true. */
  async status(): Response<'status'> {
    const conditions = ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true }));
    return { status: { conditions } };
  }

  /** Creates what the containers of a pod share: network, host name, cgroup. */
  async runPodSandbox({ config = {} }: Request<'runPodSandbox'>): Response<'runPodSandbox'> {
    const { metadata = {}, labels = {}, annotations = {} } = config;
    const id = crypto.randomUUID();
    this.#sandboxes.set(id, {
      id,
      metadata,
      labels,
      annotations,
      state: PodSandboxState.SANDBOX_READY,
      createdAt: nowNs(),
      network: { ip: '127.0.0.1' },
    });
    return { podSandboxId: id };
  }

  /** Stops the containers that still run, and releases the network. May be called again. */
  async stopPodSandbox({ podSandboxId = '' }: Request<'stopPodSandbox'>): Response<'stopPodSandbox'> {
    const sandbox = this.#sandboxes.get(podSandboxId);
    for (const { id = '', podSandboxId: owner } of [...this.#containers.values()])
      if (owner === podSandboxId) this.#end(id);
    if (sandbox)
      this.#sandboxes.set(podSandboxId, { ...sandbox, state: PodSandboxState.SANDBOX_NOTREADY });
    return {};
  }

  async removePodSandbox({ podSandboxId = '' }: Request<'removePodSandbox'>): Response<'removePodSandbox'> {
    for (const { id = '', podSandboxId: owner } of [...this.#containers.values()])
      if (owner === podSandboxId) this.#containers.delete(id);
    this.#sandboxes.delete(podSandboxId);
    return {};
  }

  async podSandboxStatus({ podSandboxId = '' }: Request<'podSandboxStatus'>): Response<'podSandboxStatus'> {
    return { status: found(this.#sandboxes, podSandboxId, 'sandbox') };
  }

  async listPodSandbox({ filter = {} }: Request<'listPodSandbox'>): Response<'listPodSandbox'> {
    const { id, state, labelSelector } = filter;
    const items = [...this.#sandboxes.values()].filter(
      (sandbox) =>
        (!id || sandbox.id === id) &&
        (!state || sandbox.state === state.state) &&
        hasLabels(sandbox.labels, labelSelector),
    );
    return { items };
  }

  /** The environment, command and mounts of the container are in \`config\`; nothing runs before \`startContainer\`. */
  async createContainer({ podSandboxId = '', config = {} }: Request<'createContainer'>): Response<'createContainer'> {
    found(this.#sandboxes, podSandboxId, 'sandbox');
    const { metadata = {}, labels = {}, annotations = {}, image = {} } = config;
    const id = crypto.randomUUID();
    this.#containers.set(id, {
      id,
      podSandboxId,
      metadata,
      labels,
      annotations,
      image,
      imageRef: image.image ?? '',
      state: ContainerState.CONTAINER_CREATED,
      createdAt: nowNs(),
    });
    return { containerId: id };
  }

  async startContainer({ containerId = '' }: Request<'startContainer'>): Response<'startContainer'> {
    const container = found(this.#containers, containerId, 'container');
    this.#containers.set(containerId, {
      ...container,
      state: ContainerState.CONTAINER_RUNNING,
      startedAt: nowNs(),
    });
    return {};
  }

  /** Resolves when the container has ended, at most \`timeout\` seconds after it was asked to. May be called again. */
  async stopContainer({ containerId = '' }: Request<'stopContainer'>): Response<'stopContainer'> {
    this.#end(containerId);
    return {};
  }

  async removeContainer({ containerId = '' }: Request<'removeContainer'>): Response<'removeContainer'> {
    this.#containers.delete(containerId);
    return {};
  }

  async listContainers({ filter = {} }: Request<'listContainers'>): Response<'listContainers'> {
    const { id, state, podSandboxId, labelSelector } = filter;
    const containers: Container[] = [...this.#containers.values()].filter(
      (container) =>
        (!id || container.id === id) &&
        (!state || container.state === state.state) &&
        (!podSandboxId || container.podSandboxId === podSandboxId) &&
        hasLabels(container.labels, labelSelector),
    );
    return { containers };
  }

  async containerStatus({ containerId = '' }: Request<'containerStatus'>): Response<'containerStatus'> {
    return { status: found(this.#containers, containerId, 'container') };
  }

  async listImages(): Response<'listImages'> {
    return { images: Array.from(this.#images, imageOf) };
  }

  /** The response for an image that is not there is empty. */
  async imageStatus({ image }: Request<'imageStatus'>): Response<'imageStatus'> {
    const name = image?.image ?? '';
    return this.#images.has(name) ? { image: imageOf(name) } : {};
  }

  async pullImage({ image }: Request<'pullImage'>): Response<'pullImage'> {
    const imageRef = image?.image ?? '';
    this.#images.add(imageRef);
    return { imageRef };
  }

  async removeImage({ image }: Request<'removeImage'>): Response<'removeImage'> {
    this.#images.delete(image?.image ?? '');
    return {};
  }

  /** Where images are stored, and how much of it they use. */
  async imageFsInfo(): Response<'imageFsInfo'> {
    return { imageFilesystems: [], containerFilesystems: [] };
  }

  #end(id: string): void {
    const container = this.#containers.get(id);
    if (container?.state !== ContainerState.CONTAINER_RUNNING) return;
    const ended = { exitCode: 0, reason: 'Completed', finishedAt: nowNs() };
    this.#containers.set(id, { ...container, ...ended, state: ContainerState.CONTAINER_EXITED });
  }
}

/** Times of container runtimes are nanoseconds. */
const nowNs = (): number => Date.now() * 1e6;

const imageOf = (name: string) => ({ id: name, repoTags: [name], size: 0 });

function found<T>(all: ReadonlyMap<string, T>, id: string, what: string): T {
  const one = all.get(id);
  if (one === undefined) throw new AgentError('not_found', \`there is no \${what} \${id}\`);
  return one;
}

type Labels = Readonly<Record<string, string>>;

const hasLabels = (labels: Labels = {}, selector: Labels = {}): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);
`,
  'src/node.ts': `import { join } from 'node:path';
import { Agent, containerProvider, type ApiClient } from 'podtender';
import { __TYPE__ } from './provider.ts';

export interface NodeSettings {
  readonly nodeName: string;
  readonly client: ApiClient;
  /** Directory of the agent's state and of the container logs. */
  readonly rootDir: string;
  /** Port of the kubelet API; absent: it is not served. */
  readonly port?: number;
}

/** Makes the agent of a node whose containers run in {@link __TYPE__}. */
export function createNode({ nodeName, client, rootDir, port }: NodeSettings): Promise<Agent> {
  const runtime = new __TYPE__();
  return Agent.create({
    nodeName,
    client,
    rootDir,
    makeProvider: containerProvider(
      { runtime, images: runtime },
      { runtimeName: '__NAME__', podLogsRoot: join(rootDir, 'pod-logs') },
    ),
    node: { runtimeVersion: () => '__NAME__://0.0.1' },
    ...(port !== undefined && { kubeletApi: { port, authorization: 'webhook' as const } }),
  });
}
`,
  'src/main.ts': `import { connectionFromKubeconfig, createApiClient, systemClock } from 'podtender';
import { createNode } from './node.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const connection = await connectionFromKubeconfig(systemClock, process.env['KUBECONFIG']);
const client = createApiClient(connection, { clock: systemClock });
const agent = await createNode({
  nodeName: process.env['NODE_NAME'] ?? '__NAME__',
  client,
  rootDir: process.env['ROOT_DIR'] ?? '/tmp/__NAME__',
  port: 10250,
});
const running = agent.run(stop.signal);
void agent.node?.waitReady().then(() => console.log('node is ready'));
await running;
await client.close();
`,
  'test/provider.test.ts': `import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createApiClient, podResource, systemClock, type HttpApiClient, type Pod } from 'podtender';
import { EmbeddedApiServer } from 'podtender/apiserver';
import { createNode } from '../src/node.ts';

const stop = new AbortController();
let server: EmbeddedApiServer;
let client: HttpApiClient;
let rootDir: string;
let running: Promise<void>;

before(async () => {
  server = await EmbeddedApiServer.start();
  client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock: systemClock });
  rootDir = await mkdtemp(join(tmpdir(), '__NAME__-'));
  const agent = await createNode({ nodeName: 'test', client, rootDir });
  running = agent.run(stop.signal);
  await agent.node?.waitReady();
});

after(async () => {
  stop.abort();
  await running;
  await client.close();
  await server.stop();
  await rm(rootDir, { recursive: true });
});

const ref = { namespace: 'default', name: 'web' };

/** The pod once \`isSo\` says yes of it; nothing when it is gone. */
async function until(isSo: (pod: Pod | undefined) => boolean): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const pod = await client.get<Pod>(podResource, ref).catch(() => undefined);
    if (isSo(pod)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail('the pod did not come to it within 10 s');
}

test('a pod is created, runs, and is gone after its deletion', async () => {
  await client.create(podResource, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: ref,
    spec: {
      nodeName: 'test',
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'any' }],
    },
  } as Pod);
  await until((pod) => pod?.status?.phase === 'Running');
  await client.delete(podResource, ref);
  await until((pod) => pod === undefined);
});
`,
} as const;

/** What an agent reads besides pods and their objects: volumes, tokens and runtime classes are its own work. */
export const containerRules = `  - { apiGroups: [''], resources: [serviceaccounts, persistentvolumeclaims, persistentvolumes], verbs: [get] }
  - { apiGroups: [''], resources: [serviceaccounts/token], verbs: [create] }
  - { apiGroups: [node.k8s.io], resources: [runtimeclasses], verbs: [get, list, watch] }
`;
