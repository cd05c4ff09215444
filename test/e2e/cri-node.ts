import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import type { Event, Pod } from '../../src/kube/types.ts';
import { connectCri } from '../../src/providers/cri/index.ts';
import {
  cgroupDriver,
  type Containerd,
  removeEmptyCgroups,
  startContainerd,
  whyNoContainerd,
} from '../support/containerd.ts';
import type { TestImage } from '../support/images.ts';
import { type Following, Lines, noKubectl } from './kubectl.ts';
import { makeDir, Podtender, type PodWatch } from './podtender.ts';

/** Folder of another containerd than the machine's. */
const binaries = process.env['CONTAINERD'];

/** Why the tests with a whole node of real containers are skipped; nothing when they are not. */
export const noCriNode: string | undefined = noKubectl ?? whyNoContainerd();

if (noCriNode !== undefined) process.stderr.write(`skipped: ${noCriNode}; a whole node is needed\n`);

/** What a {@link CriNode} is started with. */
export interface CriNodeOptions {
  /** Beside `localhost/busybox:1`. */
  readonly images?: readonly TestImage[];
  /** Further flags of the command. */
  readonly args?: readonly string[];
  /** Settings of the KubeletConfiguration file. */
  readonly config?: object;
  /** Called before the agent starts, with the agent's root folder. */
  readonly prepare?: (rootDir: string) => void;
}

/** CreateContainer's configuration as containerd keeps it, under the names of the CRI's own definition. */
interface RecordedConfig {
  readonly linux?: { readonly security_context?: object };
}

/** A whole node as a user has it: containerd, and `podtender up` over it; kubectl talks to it. */
export class CriNode {
  readonly containerd: Containerd;
  readonly #dir: ReturnType<typeof makeDir>;
  readonly #args: readonly string[];
  /** Below this all cgroups of its pods lie. */
  readonly cgroup = `podtender-e2e-${process.pid}`;
  #agent: Podtender | undefined;
  #pods: PodWatch | undefined;
  #events: Following | undefined;

  private constructor(containerd: Containerd, args: readonly string[]) {
    this.containerd = containerd;
    this.#args = args;
    this.#dir = makeDir('pt-cri-e2e-');
  }

  static async start({ images, args = [], config = {}, prepare }: CriNodeOptions = {}): Promise<CriNode> {
    const node = new CriNode(await startContainerd({ ...(binaries !== undefined && { binaries }) }), args);
    if (images) node.containerd.load(images);
    mkdirSync(node.rootDir, { recursive: true });
    const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    writeFileSync(join(node.dir, 'config.yaml'), JSON.stringify({ ...head, cgroupDriver, ...config }));
    try {
      prepare?.(node.rootDir);
      await node.startAgent();
      return node;
    } catch (reason) {
      await node.stop();
      throw reason;
    }
  }

  /** The one that runs now. */
  get agent(): Podtender {
    if (!this.#agent) throw new Error('the agent does not run');
    return this.#agent;
  }

  /** Everything but the runtime lies in here. */
  get dir(): string {
    return this.#dir.path;
  }

  /** The agent's own folder. */
  get rootDir(): string {
    return join(this.dir, 'kubelet');
  }

  async startAgent(): Promise<void> {
    mkdirSync(join(this.dir, 'manifests'), { recursive: true });
    this.#agent = await Podtender.up({
      dataDir: join(this.dir, 'data'),
      manifests: join(this.dir, 'manifests'),
      args: [
        '--provider=cri',
        `--config=${join(this.dir, 'config.yaml')}`,
        `--container-runtime-endpoint=unix://${this.containerd.socket}`,
        `--root-dir=${this.rootDir}`,
        `--pod-logs-dir=${join(this.dir, 'logs')}`,
        `--cgroup-root=/${this.cgroup}`,
        '--log-level=warn',
        ...this.#args,
      ],
    });
    this.#events = this.agent.follow(['get', '--raw', '/api/v1/events?watch=true']);
    this.#pods = this.agent.watchPods();
    await this.agent.ok(['wait', '--for=create', 'node/e2e', '--timeout=30s']);
    await this.agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=30s']);
    await this.agent.nodeAnswers();
  }

  /** Ends the agent as its user would and starts it again; with `--leave-running` its containers stay. @param meanwhile done in between */
  async restartAgent(meanwhile?: () => Promise<unknown>): Promise<void> {
    await this.agent.end();
    await meanwhile?.();
    await this.startAgent();
  }

  /** Makes objects of YAML or JSON text. */
  async create(...objects: readonly (object | string)[]): Promise<void> {
    // what begins with a brace is a stream of JSON to kubectl, in which 1.32 knows no separators: so it begins as YAML
    const documents = objects.map((one) => `---\n${typeof one === 'string' ? one : JSON.stringify(one)}\n`);
    await this.agent.ok(['create', '-f', '-'], documents.join(''));
  }

  until(name: string, fits: (pod: Pod, type: string) => boolean, timeoutMs = 60_000): Promise<Pod> {
    if (!this.#pods) throw new Error('the agent does not run');
    return this.#pods.until(name, fits, timeoutMs);
  }

  /** The messages of a pod's events of one reason, each once, as soon as there is one with a certain text. */
  async told(name: string, reason: string, including = ''): Promise<readonly string[]> {
    const lines = this.#events?.lines ?? new Lines();
    const fits = (line: string): boolean => {
      const { object } = JSON.parse(line) as { readonly object: Event };
      return object.involvedObject.name === name && object.reason === reason;
    };
    await lines.waitFor((line) => fits(line) && line.includes(including));
    const messages = lines.all
      .filter(fits)
      .map((line) => (JSON.parse(line) as { object: Event }).object.message);
    return [...new Set(messages.map((message) => message ?? ''))];
  }

  /** What the runtime was told to make of a pod's container `c`, in the runtime's own record of it. */
  async configOf(name: string): Promise<RecordedConfig> {
    const { status } = await this.agent.pod(name);
    const containerId = status?.containerStatuses?.[0]?.containerID?.split('//')[1] ?? '';
    const runtime = connectCri(this.containerd.socket, { clock: systemClock });
    try {
      const { info } = await runtime.containerStatus({ containerId, verbose: true });
      return (JSON.parse(info?.['info'] ?? '{}') as { readonly config: RecordedConfig }).config;
    } finally {
      await runtime.close();
    }
  }

  async stop(): Promise<void> {
    await this.#agent?.end();
    await this.containerd.stop();
    removeEmptyCgroups(this.cgroup);
    removeLinksInto(this.dir);
    this.#dir.remove(); // what pods had mounted stays until here, as with the kubelet
  }
}

/** The links for log collectors outlive their containers until the agent's next sweep. */
function removeLinksInto(dir: string): void {
  const links = '/var/log/containers';
  for (const name of readdirSync(links))
    if (readlinkSync(join(links, name)).startsWith(dir)) rmSync(join(links, name));
}

/** A pod of one container `c`. */
export function onePod(name: string, container: object, spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        { name: 'c', image: 'localhost/busybox:1', imagePullPolicy: 'IfNotPresent', ...container },
      ],
      ...spec,
    },
  };
}

/** Runs a shell script in the container. */
export const shell = (script: string): { readonly command: readonly string[] } => ({
  command: ['/bin/sh', '-c', script],
});

export const sleeps = shell(
  'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done'.replaceAll('$', '$$$$'),
);

/** Why the pod's container `c` waits. */
export const waiting = (pod: Pod): { readonly reason: string; readonly message: string } => {
  const { reason = '', message = '' } = pod.status?.containerStatuses?.[0]?.state?.waiting ?? {};
  return { reason, message };
};
