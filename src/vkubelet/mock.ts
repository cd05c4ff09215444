import { Readable } from 'node:stream';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import { parseQuantity } from '../kube/resources/quantity.ts';
import { rfc3339 } from '../kube/time.ts';
import type { ContainerStatus, Pod, PodStatus } from '../kube/types.ts';
import type { MutableNode, PodNotifier, Provider, StatsSummary } from './contract.ts';
import { invalidInput, notFoundError } from './errors.ts';

/** What `--provider-config` says of one node. */
export interface MockConfig {
  readonly cpu?: string;
  readonly memory?: string;
  readonly pods?: string;
  readonly others?: Readonly<Record<string, string>>;
  readonly providerID?: string;
}

const defaults = { cpu: '20', memory: '100Gi', pods: '20' };

/** What a mock provider is made with. */
export interface MockOptions {
  readonly nodeName: string;
  readonly config?: MockConfig;
  readonly operatingSystem?: string;
  readonly internalIP?: string;
  readonly daemonPort?: number;
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * Reads the configuration of one node from the text of a mock provider's file: an object by node name. A node that it does not name has the defaults.
 *
 * @throws {InvalidInputError} naming the quantity that is none
 *
 * @example
 * const config = mockConfigOf(await readFile('mock.json', 'utf8'), 'vkubelet-mock-0');
 */
export function mockConfigOf(text: string, nodeName: string): MockConfig {
  let all: unknown;
  try {
    all = JSON.parse(text);
  } catch (reason) {
    throw invalidInput('the configuration of the mock provider is no JSON', { cause: reason });
  }
  const config: MockConfig = (all as Readonly<Record<string, MockConfig>> | null)?.[nodeName] ?? {};
  for (const [name, value] of Object.entries({ ...defaults, ...config, ...config.others }))
    if (typeof value === 'string' && name !== 'providerID' && !isQuantity(value))
      throw invalidInput(`invalid ${name} value ${value}: write a quantity such as 20 or 100Gi`);
  return config;
}

function isQuantity(text: string): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * virtual-kubelet's mock provider: pods as records that run at once and end when they are deleted. For tests, and for virtual-kubelet's own end-to-end
 * suite.
 *
 * @example
 * const provider = new MockProvider({ nodeName, config: mockConfigOf(text, nodeName) });
 */
export class MockProvider implements Provider, PodNotifier {
  readonly #pods = new Map<string, Pod>();
  readonly #options: MockOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #startedAt: number;
  #notify: (pod: Pod) => void = () => undefined;

  constructor(options: MockOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#startedAt = this.#clock.now();
  }

  async createPod(pod: Pod): Promise<void> {
    const startedAt = rfc3339(this.#clock.now());
    const created = { ...pod, status: this.#runningStatus(pod, startedAt) };
    this.#pods.set(keyOf(pod), created);
    this.#notify(created);
  }

  #runningStatus(pod: Pod, startedAt: string): PodStatus {
    return {
      phase: 'Running',
      hostIP: '1.2.3.4',
      podIP: '5.6.7.8',
      startTime: startedAt,
      conditions: ['Initialized', 'Ready', 'PodScheduled'].map((type) => ({ type, status: 'True' })),
      containerStatuses: (pod.spec?.containers ?? []).map(({ name, image = '' }): ContainerStatus => ({
        name,
        image,
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt } },
      })),
    };
  }

  async updatePod(pod: Pod): Promise<void> {
    const { status } = this.#pods.get(keyOf(pod)) ?? pod;
    const next = { ...pod, ...(status && { status }) };
    this.#pods.set(keyOf(pod), next);
    this.#notify(next);
  }

  async deletePod(pod: Pod): Promise<void> {
    const found = this.#pods.get(keyOf(pod));
    if (!found) throw notFoundError('pod not found');
    this.#pods.delete(keyOf(pod));
    const finishedAt = rfc3339(this.#clock.now());
    const containerStatuses = (found.status?.containerStatuses ?? []).map((one) => ({
      ...one,
      ready: false,
      state: {
        terminated: {
          exitCode: 0,
          reason: 'MockProviderPodContainerDeleted',
          message: 'Mock provider terminated container upon deletion',
          finishedAt,
          ...(one.state?.running?.startedAt != null && { startedAt: one.state.running.startedAt }),
        },
      },
    }));
    this.#notify({
      ...found,
      status: { ...found.status, phase: 'Succeeded', reason: 'MockProviderPodDeleted', containerStatuses },
    });
  }

  async getPod(namespace: string, name: string): Promise<Pod> {
    const pod = this.#pods.get(`${namespace}-${name}`);
    if (!pod) throw notFoundError(`pod "${namespace}/${name}" is not known to the provider`);
    return pod;
  }

  async getPodStatus(namespace: string, name: string): Promise<PodStatus | undefined> {
    return (await this.getPod(namespace, name)).status;
  }

  async getPods(): Promise<readonly Pod[]> {
    return [...this.#pods.values()];
  }

  notifyPods(notify: (pod: Pod) => void): void {
    this.#notify = notify;
  }

  async getContainerLogs(): Promise<Readable> {
    return Readable.from([]);
  }

  async runInContainer(): Promise<void> {
    // every command succeeds at once
  }

  async attachToContainer(): Promise<void> {
    // nothing is ever printed
  }

  async portForward(): Promise<void> {
    // nothing listens
  }

  configureNode(node: MutableNode): void {
    const { config = {}, operatingSystem, internalIP = '', daemonPort = 0 } = this.#options;
    const { cpu = defaults.cpu, memory = defaults.memory, pods = defaults.pods, others, providerID } = config;
    const capacity = { cpu, memory, pods, ...others };
    if (providerID) node.spec.providerID = providerID;
    const at = rfc3339(this.#clock.now());
    node.status = {
      ...node.status,
      capacity,
      allocatable: capacity,
      conditions: conditions.map((one) => ({ ...one, lastHeartbeatTime: at, lastTransitionTime: at })),
      addresses: [{ type: 'InternalIP', address: internalIP }],
      daemonEndpoints: { kubeletEndpoint: { Port: daemonPort } },
      nodeInfo: {
        ...node.status.nodeInfo,
        operatingSystem: operatingSystem?.toLowerCase() ?? 'linux',
        architecture: 'amd64',
      } as NonNullable<typeof node.status.nodeInfo>,
    };
    node.metadata.labels['alpha.service-controller.kubernetes.io/exclude-balancer'] = 'true';
    node.metadata.labels['node.kubernetes.io/exclude-from-external-load-balancers'] = 'true';
  }

  async getStatsSummary(): Promise<StatsSummary> {
    const time = rfc3339(this.#clock.now());
    const some = (): number => Math.floor(this.#random.float() * 2 ** 32);
    const pods = [...this.#pods.values()].map((pod) => {
      const startTime = pod.metadata?.creationTimestamp ?? time;
      const containers = (pod.spec?.containers ?? []).map(({ name }) => ({
        name,
        startTime,
        cpu: { time, usageNanoCores: some() },
        memory: { time, usageBytes: some() },
      }));
      return {
        podRef: { name: nameOf(pod), namespace: namespaceOf(pod), uid: uidOf(pod) },
        startTime,
        containers,
        cpu: { time, usageNanoCores: containers.reduce((sum, one) => sum + one.cpu.usageNanoCores, 0) },
        memory: { time, usageBytes: containers.reduce((sum, one) => sum + one.memory.usageBytes, 0) },
      };
    });
    return { node: { nodeName: this.#options.nodeName, startTime: rfc3339(this.#startedAt) }, pods };
  }

  async getMetricsResource(): Promise<string> {
    const { nodeName } = this.#options;
    const families = { node: [`NodeName="${nodeName}"`], pod: [] as string[], container: [] as string[] };
    for (const pod of this.#pods.values()) {
      const labels = `NodeName="${nodeName}",PodName="${nameOf(pod)}"`;
      families.pod.push(labels);
      for (const { name } of pod.spec?.containers ?? [])
        families.container.push(`${labels},containerName="${name}"`);
    }
    const pages = Object.entries(families).flatMap(([kind, labels]) => [
      page(`${kind}_cpu_usage_seconds_total`, 'counter', labels),
      page(`${kind}_memory_working_set_bytes`, 'gauge', labels),
    ]);
    return pages.join('');
  }
}

const page = (name: string, type: string, labels: readonly string[]): string =>
  labels.length === 0
    ? ''
    : `# HELP ${name} mock value\n# TYPE ${name} ${type}\n${labels.map((one) => `${name}{${one}} 100\n`).join('')}`;

const keyOf = (pod: Pod): string => `${namespaceOf(pod)}-${nameOf(pod)}`;

const conditions = [
  { type: 'Ready', status: 'False', reason: 'KubeletPending', message: 'kubelet is pending.' },
  {
    type: 'OutOfDisk',
    status: 'False',
    reason: 'KubeletHasSufficientDisk',
    message: 'kubelet has sufficient disk space available',
  },
  {
    type: 'MemoryPressure',
    status: 'False',
    reason: 'KubeletHasSufficientMemory',
    message: 'kubelet has sufficient memory available',
  },
  {
    type: 'DiskPressure',
    status: 'False',
    reason: 'KubeletHasNoDiskPressure',
    message: 'kubelet has no disk pressure',
  },
  {
    type: 'NetworkUnavailable',
    status: 'False',
    reason: 'RouteCreated',
    message: 'RouteController created a route',
  },
];
