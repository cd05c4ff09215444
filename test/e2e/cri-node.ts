import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import type { Event, Pod, PodSpec } from '../../src/kube/types.ts';
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

/** An object that a test makes. */
interface Made {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: Pick<PodSpec, 'volumes'>;
}

const keyOf = ({ kind, metadata }: Made): string => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

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
  /** What was made, by kind and name. */
  readonly #made = new Set<string>();
  /** The UIDs of pods of an earlier try of the same test. */
  readonly #left = new Set<string>();

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

  /** Makes objects of YAML or JSON text. What a failed try of the same test has left of them is removed before. */
  async create(...objects: readonly (object | string)[]): Promise<void> {
    const own = objects.filter((one): one is Made => typeof one !== 'string');
    await this.#removeLeft(own.filter((one) => this.#made.has(keyOf(one))));
    for (const one of own) this.#made.add(keyOf(one));
    // what begins with a brace is a stream of JSON to kubectl, in which 1.32 knows no separators: so it begins as YAML
    const documents = objects.map((one) => `---\n${typeof one === 'string' ? one : JSON.stringify(one)}\n`);
    await this.agent.ok(['create', '-f', '-'], documents.join(''));
  }

  async #removeLeft(objects: readonly Made[]): Promise<void> {
    const order = (one: Made): number => (one.kind === 'Pod' ? 0 : 1); // pods keep what they use
    for (const { kind, metadata, spec } of objects.toSorted((a, b) => order(a) - order(b))) {
      const { name } = metadata;
      const among = metadata.namespace === undefined ? [] : ['--namespace', metadata.namespace];
      const remove = ['delete', kind, name, '--ignore-not-found', '--timeout=60s', ...among];
      for (const { object } of kind === 'Pod' ? (this.#pods?.history(name) ?? []) : [])
        this.#left.add(object.metadata?.uid ?? '');
      await this.agent.ok(remove);
      for (const { hostPath } of spec?.volumes ?? [])
        if (hostPath?.type === 'DirectoryOrCreate' && hostPath.path.startsWith(`${this.dir}/`))
          rmSync(hostPath.path, { recursive: true, force: true });
    }
  }

  until(name: string, fits: (pod: Pod, type: string) => boolean, timeoutMs = 60_000): Promise<Pod> {
    if (!this.#pods) throw new Error('the agent does not run');
    const isOfThisTry = ({ metadata }: Pod): boolean => !this.#left.has(metadata?.uid ?? '');
    return this.#pods.until(name, (pod, type) => isOfThisTry(pod) && fits(pod, type), timeoutMs);
  }

  /** The messages of a pod's events of one reason, each once, as soon as there is one with a certain text. */
  async told(name: string, reason: string, including = ''): Promise<readonly string[]> {
    const lines = this.#events?.lines ?? new Lines();
    const fits = (line: string): boolean => {
      const { object } = JSON.parse(line) as { readonly object: Event };
      const { involvedObject: pod } = object;
      return pod.name === name && object.reason === reason && !this.#left.has(pod.uid ?? '');
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
