import { conformanceTemplates } from './new-provider-conformance.ts';
import { containerRules, containerTemplates } from './new-provider-container.ts';
import { checkProjectName, dockerfile, packageJson, tsconfig, writeProject } from './project-folder.ts';

/** The contracts that a project can begin with. */
export const projectContracts = ['pod', 'container', 'vkubelet'] as const;
export type ProjectContract = (typeof projectContracts)[number];

export interface NewProviderOptions {
  readonly name: string;
  readonly contract: ProjectContract;
  /** The folder is made here. */
  readonly cwd: string;
  /** Of podtender, for the project's dependency. */
  readonly version: string;
}

/**
 * Writes the TypeScript project of a new provider into the folder of its name, and returns the paths of its files.
 *
 * @throws {AgentError} `invalid_argument` for a name that is none; `already_exists` when the folder holds something
 */
export async function newProviderProject(options: NewProviderOptions): Promise<readonly string[]> {
  checkProjectName(options.name, 'provider');
  return writeProject(options, filesOf(options));
}

/** `my-rooms` as a class is called. */
const className = (name: string): string =>
  name.replaceAll(/(?:^|-)([a-z0-9])/g, (_all, first: string) => first.toUpperCase());

function filesOf({ name, contract, version }: NewProviderOptions): Readonly<Record<string, string>> {
  const type = className(name);
  return {
    'package.json': packageJson({ name, version }),
    'tsconfig.json': tsconfig,
    ...sourcesOf(contract, type, name),
    'test/conformance.test.ts': filled(conformanceTemplates[contract], type, name),
    Dockerfile: dockerfile(),
    'deploy.yaml': deployment(name, contract === 'container' ? containerRules : ''),
    'README.md': readme(name, contract),
    '.gitignore': 'node_modules/\ndist/\n',
  };
}

function sourcesOf(contract: ProjectContract, type: string, name: string): Readonly<Record<string, string>> {
  if (contract === 'container')
    return Object.fromEntries(
      Object.entries(containerTemplates).map(([path, template]) => [path, filled(template, type, name)]),
    );
  return {
    'src/provider.ts': filled(contract === 'pod' ? podTemplate : handlerTemplate, type, name),
    'src/main.ts': main(type, name),
    'test/provider.test.ts': testOf(type),
  };
}

const filled = (template: string, type: string, name: string): string =>
  template.replaceAll('__TYPE__', type).replaceAll('__NAME__', name);

/** `__TYPE__` stands for the class. */
const handlerTemplate = `import {
  notFoundError,
  type Pod,
  type PodCapabilities,
  type PodLifecycleHandler,
  type PodNotifier,
  type PodStatus,
} from 'podtender/vkubelet';

/** Runs pods as records. Replace the records by calls of your backend, and store its handle by the UID of the pod. */
export class __TYPE__ implements PodLifecycleHandler, PodNotifier {
  /** What pods may ask for; what is excluded here is refused by name. */
  readonly capabilities: PodCapabilities = { volumes: ['emptyDir', 'projected'], hostNetwork: false };
  readonly #pods = new Map<string, Pod>();
  #notify: (pod: Pod) => void = () => undefined;

  /** Call \`notify\` whenever the status of a pod changes; without this method pods are asked for every 5 s. */
  notifyPods(notify: (pod: Pod) => void): void {
    this.#notify = notify;
  }

  /** May be called again for a pod that is there already. Errors: \`permanent\`, \`throttled\`, \`unavailable\` … */
  async createPod(pod: Pod): Promise<void> {
    const made = { ...pod, status: runningStatus(pod) };
    this.#pods.set(keyOf(pod), made);
    this.#notify(made);
  }

  async updatePod(pod: Pod): Promise<void> {
    const { status = {} } = this.#pods.get(keyOf(pod)) ?? pod;
    this.#pods.set(keyOf(pod), { ...pod, status });
  }

  /** Stop the pod within \`pod.metadata.deletionGracePeriodSeconds\`, and say with which exit codes it ended. */
  async deletePod(pod: Pod): Promise<void> {
    const found = this.#pods.get(keyOf(pod));
    if (!found) throw notFoundError('there is no such pod');
    this.#pods.delete(keyOf(pod));
    this.#notify({ ...found, status: endedStatus(found.status ?? {}) });
  }

  async getPod(namespace: string, name: string): Promise<Pod | undefined> {
    return this.#pods.get(\`\${namespace}/\${name}\`);
  }

  async getPodStatus(namespace: string, name: string): Promise<PodStatus | undefined> {
    return this.#pods.get(\`\${namespace}/\${name}\`)?.status;
  }

  /** All pods of this node. Throw when you cannot say: an empty list means that there are none. */
  async getPods(): Promise<readonly Pod[]> {
    return [...this.#pods.values()];
  }
}

const keyOf = ({ metadata }: Pod): string => \`\${metadata?.namespace}/\${metadata?.name}\`;

function runningStatus({ spec }: Pod): PodStatus {
  const startedAt = new Date().toISOString();
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const containerStatuses = [...sidecars, ...(spec?.containers ?? [])].map(({ name, image = '' }) => ({
    name,
    image,
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt } },
  }));
  return { phase: 'Running', podIP: '127.0.0.1', startTime: startedAt, containerStatuses };
}

function endedStatus(status: PodStatus): PodStatus {
  const terminated = { exitCode: 0, reason: 'Completed', finishedAt: new Date().toISOString() };
  const containerStatuses = (status.containerStatuses ?? []).map((one) => ({
    ...one,
    ready: false,
    state: { terminated },
  }));
  return { ...status, phase: 'Succeeded', containerStatuses };
}
`;

/** `__TYPE__` stands for the class, `__NAME__` for the provider. */
const podTemplate = `import type {
  PodProvider,
  PodRef,
  PodSyncResult,
  RuntimeContainerStatus,
  RuntimePod,
  RuntimePodStatus,
  SyncPodRequest,
} from 'podtender/provider';

/** Runs pods as records. Replace the records by calls of your backend, and store its handle by the UID of the pod. */
export class __TYPE__ implements PodProvider {
  /** The scheme of container IDs. */
  readonly name = '__NAME__';
  readonly #pods = new Map<string, RuntimePodStatus>();

  /** Starts what of the pod does not run yet; called again and again. */
  async syncPod({ pod }: SyncPodRequest): Promise<PodSyncResult> {
    const { uid = '', name = '', namespace = '' } = pod.metadata ?? {};
    if (this.#pods.has(uid)) return { results: [], changed: false };
    const startedAt = Date.now();
    const { initContainers = [], containers: regular = [] } = pod.spec ?? {};
    const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
    const containers = [...sidecars, ...regular].map(
      (container): RuntimeContainerStatus => ({
        id: \`__NAME__://\${uid}/\${container.name}\`,
        name: container.name,
        state: 'running',
        createdAt: startedAt,
        startedAt,
        exitCode: 0,
        image: container.image ?? '',
        imageId: '',
        imageRef: '',
        hash: 0,
        restartCount: 0,
        reason: '',
        message: '',
      }),
    );
    this.#pods.set(uid, statusOf({ uid, name, namespace }, containers));
    return { results: [], changed: true };
  }

  /** Resolves once nothing of the pod runs. */
  async killPod(_pod: unknown, { uid }: RuntimePod): Promise<void> {
    const status = this.#pods.get(uid);
    if (!status) return;
    const finishedAt = Date.now();
    const containers = status.containerStatuses.map((one) => ({
      ...one,
      state: 'exited' as const,
      finishedAt,
      reason: 'Completed',
    }));
    this.#pods.set(uid, statusOf(status, containers));
  }

  /** Every pod of this node, those that have stopped too. Throw when you cannot say. */
  async listPods(): Promise<readonly RuntimePod[]> {
    return Array.from(this.#pods.values(), ({ uid, name, namespace, containerStatuses }) => ({
      uid,
      name,
      namespace,
      containers: containerStatuses.map(({ id, name: container, state }) => ({ id, name: container, state })),
      sandboxes: [],
    }));
  }

  async getPodStatus(ref: PodRef): Promise<RuntimePodStatus> {
    return this.#pods.get(ref.uid) ?? statusOf(ref, []);
  }

  /** Removes what is left of a pod that has ended; its API object waits for it. */
  async deletePod({ uid }: PodRef): Promise<void> {
    this.#pods.delete(uid);
  }
}

const statusOf = (
  { uid, name, namespace }: PodRef,
  containerStatuses: readonly RuntimeContainerStatus[],
): RuntimePodStatus => ({
  uid,
  name,
  namespace,
  ips: ['127.0.0.1'],
  containerStatuses,
  activeContainerStatuses: containerStatuses,
  sandboxStatuses: [],
});
`;

const main = (type: string, name: string): string => `import { runNode } from 'podtender';
import { ${type} } from './provider.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const kubeconfig = process.env['KUBECONFIG'];
const node = await runNode(
  {
    nodeName: process.env['NODE_NAME'] ?? '${name}',
    provider: new ${type}(),
    ...(kubeconfig !== undefined && { kubeconfig }),
  },
  stop.signal,
);
console.log(\`node is ready, kubelet API on port \${node.address.port}\`);
await node.done;
`;

const testOf = (type: string): string => `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createApiClient, podResource, runNode, systemClock, type Pod, type RunningNode } from 'podtender';
import { ${type} } from '../src/provider.ts';

let node: RunningNode;
let client: ReturnType<typeof createApiClient>;

before(async () => {
  node = await runNode({ nodeName: 'test', provider: new ${type}(), server: 'embedded' });
  const { server } = node;
  assert.ok(server);
  client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock: systemClock });
});

after(async () => {
  await client.close();
  await node.stop();
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
`;

const deployment = (name: string, rules: string): string => `apiVersion: v1
kind: ServiceAccount
metadata: { name: ${name}, namespace: kube-system }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: ${name} }
rules:
  - { apiGroups: [''], resources: [nodes], verbs: [create, get, list, watch, patch] }
  - { apiGroups: [''], resources: [nodes/status], verbs: [patch, update] }
  - { apiGroups: [''], resources: [pods], verbs: [get, list, watch, delete] }
  - { apiGroups: [''], resources: [pods/status], verbs: [patch, update] }
  - { apiGroups: [''], resources: [configmaps, secrets, services], verbs: [get, list, watch] }
  - { apiGroups: [''], resources: [events], verbs: [create, patch] }
  - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update] }
  - { apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create] }
  - { apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create] }
${rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: ${name} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ${name} }
subjects: [{ kind: ServiceAccount, name: ${name}, namespace: kube-system }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}, namespace: kube-system }
spec:
  replicas: 1
  strategy: { type: Recreate } # two agents must not have one node name
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      serviceAccountName: ${name}
      containers:
        - name: agent
          image: ${name}:latest
          env: [{ name: NODE_NAME, value: ${name} }]
          ports: [{ containerPort: 10250 }]
`;

const contractOf: Readonly<Record<ProjectContract, string>> = {
  pod: '`podtender/provider`',
  container: '`podtender/provider` container runtime',
  vkubelet: '`podtender/vkubelet`',
};

const readme = (name: string, contract: ProjectContract): string => `# ${name}

A Kubernetes node whose pods run elsewhere, with podtender's ${contractOf[contract]} contract.

    npm install
    npm run check
    npm test                      # brings an API server along
    KUBECONFIG=~/.kube/config npm start

\`src/provider.ts\` is where pods run. \`test/conformance.test.ts\` checks the laws that every provider keeps. \`deploy.yaml\` runs the node in a cluster.
`;
