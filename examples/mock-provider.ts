/**
 * virtual-kubelet's mock provider, ported: pods are records that run at once and end when they are deleted. Its containers have a log, run a
 * handful of commands, repeat what is typed at them and answer HTTP on each port, all without a process.
 *
 *   podtender vk --provider ./examples/mock-provider.ts
 *   node examples/mock-provider.ts
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Duplex, PassThrough, Readable, type Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { runNode } from '../src/index.ts';
import {
  type AttachIO,
  type ContainerLogOpts,
  type Context,
  exitError,
  type MutableNode,
  notFoundError,
  type Pod,
  type PodNotifier,
  type PodStatus,
  type Provider,
  type StatsSummary,
} from '../src/vkubelet/index.ts';

/** The CPU that each container uses, in cores, and its memory in bytes. */
const usage = { cores: 0.1, bytes: 8 * 2 ** 20 };

/** One container of a pod: its log, and the signal that ends its streams. */
class MockContainer {
  readonly startedAt = Date.now();
  readonly ended = new AbortController();
  readonly #lines: { readonly at: number; readonly text: string }[] = [];
  readonly #watchers = new Set<(text: string) => void>();

  print(text: string): void {
    this.#lines.push({ at: Date.now(), text });
    for (const watcher of this.#watchers) watcher(text);
  }

  /** The lines that the options ask for, oldest first. */
  lines({ tail, sinceTime, sinceSeconds, timestamps = false }: ContainerLogOpts): readonly string[] {
    const since = sinceTime?.getTime() ?? (sinceSeconds === undefined ? 0 : Date.now() - 1000 * sinceSeconds);
    const selected = this.#lines.filter(({ at }) => at >= since);
    return selected
      .slice(tail === undefined ? 0 : Math.max(0, selected.length - tail))
      .map(({ at, text }) => (timestamps ? `${new Date(at).toISOString()} ${text}` : text));
  }

  /** Writes each line from now on to `output`; the returned function ends that. */
  follow(output: Writable): () => void {
    const watcher = (text: string): void => void output.write(`${text}\n`);
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Seconds of CPU since the start. */
  get cpuSeconds(): number {
    return ((Date.now() - this.startedAt) / 1000) * usage.cores;
  }
}

interface Running {
  pod: Pod;
  readonly containers: ReadonlyMap<string, MockContainer>;
}

class MockProvider implements Provider, PodNotifier {
  readonly #nodeName: string;
  readonly #startedAt = Date.now();
  readonly #pods = new Map<string, Running>();
  /** CPU of the containers that have ended: the counter of the node never falls. */
  #endedCpuSeconds = 0;
  #notify: (pod: Pod) => void = () => undefined;

  /** `podtender vk` makes the provider with the name of its node, among other settings. */
  constructor({ nodeName }: { readonly nodeName: string }) {
    this.#nodeName = nodeName;
  }

  async createPod(pod: Pod): Promise<void> {
    const key = keyOf(pod);
    // called again for a pod that is here already: it goes on
    if (this.#pods.get(key)?.pod.metadata?.uid === pod.metadata?.uid) return;
    const containers = new Map<string, MockContainer>();
    for (const { name } of pod.spec?.containers ?? []) {
      const container = new MockContainer();
      container.print(`${name} started`);
      containers.set(name, container);
    }
    const made = { ...pod, status: runningStatus(pod) };
    this.#pods.set(key, { pod: made, containers });
    this.#notify(made);
  }

  async updatePod(pod: Pod): Promise<void> {
    const found = this.#pods.get(keyOf(pod));
    if (!found) throw notFoundError(`pod ${keyOf(pod)} is not here`);
    found.pod = { ...pod, ...(found.pod.status && { status: found.pod.status }) };
    this.#notify(found.pod);
  }

  async deletePod(pod: Pod): Promise<void> {
    const found = this.#pods.get(keyOf(pod));
    if (!found) throw notFoundError(`pod ${keyOf(pod)} is not here`);
    this.#pods.delete(keyOf(pod));
    for (const container of found.containers.values()) {
      this.#endedCpuSeconds += container.cpuSeconds;
      container.ended.abort();
    }
    this.#notify({ ...found.pod, status: endedStatus(found.pod.status) });
  }

  async getPod(namespace: string, name: string): Promise<Pod | undefined> {
    return this.#pods.get(`${namespace}/${name}`)?.pod;
  }

  async getPodStatus(namespace: string, name: string): Promise<PodStatus | undefined> {
    return (await this.getPod(namespace, name))?.status;
  }

  async getPods(): Promise<readonly Pod[]> {
    return Array.from(this.#pods.values(), ({ pod }) => pod);
  }

  notifyPods(notify: (pod: Pod) => void): void {
    this.#notify = notify;
  }

  async getContainerLogs(
    namespace: string,
    pod: string,
    container: string,
    options: ContainerLogOpts,
    { signal }: Context,
  ): Promise<Readable> {
    const found = this.#container(namespace, pod, container);
    const lines = found.lines(options).map((line) => `${line}\n`);
    if (!options.follow) return Readable.from(lines);
    const output = new PassThrough();
    for (const line of lines) output.write(line);
    const end = found.follow(output);
    AbortSignal.any([signal, found.ended.signal]).addEventListener('abort', () => {
      end();
      output.end();
    });
    return output;
  }

  async runInContainer(
    namespace: string,
    pod: string,
    container: string,
    command: readonly string[],
    io: AttachIO,
  ): Promise<void> {
    this.#container(namespace, pod, container);
    const code = await run(command, io);
    if (code !== 0) throw exitError(code);
  }

  /** What is typed is a line of the log, and so is seen by all who are attached. */
  async attachToContainer(
    namespace: string,
    pod: string,
    container: string,
    { stdin, stdout }: AttachIO,
    { signal }: Context,
  ): Promise<void> {
    const found = this.#container(namespace, pod, container);
    const over = AbortSignal.any([signal, found.ended.signal]);
    const end = stdout && found.follow(stdout);
    try {
      if (stdin) {
        const lines = createInterface({ input: stdin, signal: over });
        for await (const line of lines) found.print(`got ${line}`);
      } else if (!over.aborted) await once(over, 'abort');
    } finally {
      end?.();
    }
  }

  /** Every port is a web server. */
  async portForward(namespace: string, name: string, port: number, stream: Duplex): Promise<void> {
    if (!this.#pods.has(`${namespace}/${name}`)) throw notFoundError(`pod ${namespace}/${name} is not here`);
    let request = '';
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      request += String(chunk);
      if (request.includes('\r\n\r\n')) break;
    }
    const body = `hello from ${namespace}/${name} on port ${port}\n`;
    stream.end(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    // the connection lasts for as long as this call
    stream.resume();
    await finished(stream, { error: false });
  }

  configureNode(node: MutableNode): void {
    const capacity = { cpu: '20', memory: '100Gi', pods: '20' };
    node.status = { ...node.status, capacity, allocatable: capacity };
  }

  async getStatsSummary(): Promise<StatsSummary> {
    const time = new Date().toISOString();
    const pods = Array.from(this.#pods.values(), ({ pod: { metadata }, containers }) => ({
      podRef: { name: metadata?.name, namespace: metadata?.namespace, uid: metadata?.uid },
      startTime: metadata?.creationTimestamp ?? time,
      containers: Array.from(containers, ([name, { startedAt, cpuSeconds }]) => ({
        name,
        startTime: new Date(startedAt).toISOString(),
        cpu: {
          time,
          usageNanoCores: usage.cores * 1e9,
          usageCoreNanoSeconds: Math.round(cpuSeconds * 1e9),
        },
        memory: { time, usageBytes: usage.bytes, workingSetBytes: usage.bytes },
      })),
    }));
    const startTime = new Date(this.#startedAt).toISOString();
    return { node: { nodeName: this.#nodeName, startTime }, pods };
  }

  async getMetricsResource(): Promise<string> {
    const rows = [...this.#pods.values()].flatMap(({ pod: { metadata }, containers }) =>
      Array.from(containers, ([name, container]) => ({
        labels: `{container="${name}",namespace="${metadata?.namespace}",pod="${metadata?.name}"}`,
        container,
      })),
    );
    const cpuOfAll = rows.reduce((sum, { container }) => sum + container.cpuSeconds, this.#endedCpuSeconds);
    const now = Date.now();
    return [
      '# TYPE node_cpu_usage_seconds_total counter',
      `node_cpu_usage_seconds_total ${cpuOfAll} ${now}`,
      '# TYPE node_memory_working_set_bytes gauge',
      `node_memory_working_set_bytes ${rows.length * usage.bytes}`,
      '# TYPE container_cpu_usage_seconds_total counter',
      ...rows.map(
        ({ labels, container }) =>
          `container_cpu_usage_seconds_total${labels} ${container.cpuSeconds} ${now}`,
      ),
      '# TYPE container_memory_working_set_bytes gauge',
      ...rows.map(({ labels }) => `container_memory_working_set_bytes${labels} ${usage.bytes}`),
      '# TYPE container_start_time_seconds gauge',
      ...rows.map(
        ({ labels, container }) => `container_start_time_seconds${labels} ${container.startedAt / 1000}`,
      ),
      '',
    ].join('\n');
  }

  #container(namespace: string, pod: string, name: string): MockContainer {
    const found = this.#pods.get(`${namespace}/${pod}`)?.containers.get(name);
    if (!found) throw notFoundError(`pod ${namespace}/${pod} has no container ${name}`);
    return found;
  }
}

/** The commands of a mock container: `true`, `false`, `echo`, `cat` and `exit CODE`. */
async function run([name = '', ...words]: readonly string[], io: AttachIO): Promise<number> {
  switch (name) {
    case 'true':
      return 0;
    case 'false':
      return 1;
    case 'echo':
      io.stdout?.write(`${words.join(' ')}\n`);
      return 0;
    case 'cat':
      if (io.stdin) io.stdout?.write(await buffer(io.stdin));
      return 0;
    case 'exit':
      return Number(words[0] ?? 0) & 255;
    default:
      io.stderr?.write(`${name}: not found\n`);
      return 127;
  }
}

const keyOf = ({ metadata }: Pod): string => `${metadata?.namespace}/${metadata?.name}`;

function runningStatus(pod: Pod): PodStatus {
  const startedAt = new Date().toISOString();
  return {
    phase: 'Running',
    hostIP: '1.2.3.4',
    podIP: '5.6.7.8',
    startTime: startedAt,
    conditions: ['Initialized', 'Ready', 'PodScheduled'].map((type) => ({ type, status: 'True' })),
    containerStatuses: (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
      name,
      image,
      imageID: '',
      ready: true,
      restartCount: 0,
      state: { running: { startedAt } },
    })),
  };
}

function endedStatus(status: PodStatus = {}): PodStatus {
  const finishedAt = new Date().toISOString();
  const terminated = {
    exitCode: 0,
    reason: 'MockProviderPodContainerDeleted',
    message: 'Mock provider terminated container upon deletion',
    finishedAt,
  };
  return {
    ...status,
    phase: 'Succeeded',
    reason: 'MockProviderPodDeleted',
    containerStatuses: (status.containerStatuses ?? []).map((one) => ({
      ...one,
      ready: false,
      state: {
        terminated: { ...terminated, startedAt: one.state?.running?.startedAt ?? finishedAt },
      },
    })),
  };
}

export default MockProvider;

if (process.argv[1] === import.meta.filename) {
  const provider = new MockProvider({ nodeName: 'mock' });
  const node = await runNode({ nodeName: 'mock', provider, server: 'embedded' });
  console.log(`node mock is ready at ${node.server?.url}`);
  await node.stop();
}
