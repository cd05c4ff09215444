/**
 * A node whose containers are processes of this machine, with their output as logs and their real exit codes.
 *
 *   node examples/processes.ts
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { runNode } from '../src/index.ts';
import {
  type ContainerLogOpts,
  invalidInput,
  notFoundError,
  type Pod,
  type PodCapabilities,
  type PodLifecycleHandler,
  type PodNotifier,
  type PodStatus,
} from '../src/vkubelet/index.ts';

interface Running {
  readonly process: ChildProcess;
  readonly startedAt: string;
  output: string;
  ended?: { readonly exitCode: number; readonly finishedAt: string };
}

export class Processes implements PodLifecycleHandler, PodNotifier {
  /** The features that this provider lacks; a pod that needs one is rejected with its name. */
  readonly capabilities: PodCapabilities = {
    initContainers: false,
    sidecars: false,
    ephemeralContainers: false,
    volumes: false,
    restartPolicies: ['Never'],
    probes: false,
  };
  readonly #pods = new Map<string, { readonly pod: Pod; readonly containers: Map<string, Running> }>();
  #notify: (pod: Pod) => void = () => undefined;

  notifyPods(notify: (pod: Pod) => void): void {
    this.#notify = notify;
  }

  async createPod(pod: Pod): Promise<void> {
    const containers = new Map<string, Running>();
    for (const { name, command = [], args = [], env = [] } of pod.spec?.containers ?? []) {
      const [program, ...words] = [...command, ...args];
      if (program === undefined) throw invalidInput(`container ${name} has no command`);
      const variables = Object.fromEntries(env.map((one) => [one.name, one.value ?? '']));
      const child = spawn(program, words, { env: { PATH: process.env['PATH'] ?? '', ...variables } });
      const running: Running = { process: child, startedAt: new Date().toISOString(), output: '' };
      containers.set(name, running);
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (running.output += chunk.toString()));
      const end = (exitCode: number): void => {
        running.ended ??= { exitCode, finishedAt: new Date().toISOString() };
        this.#tell(pod);
      };
      child.once('error', () => {
        end(128);
      });
      child.once('close', (code, signal) => {
        end(code ?? (signal === 'SIGKILL' ? 137 : 143));
      });
    }
    this.#pods.set(keyOf(pod), { pod, containers });
    this.#tell(pod);
  }

  async updatePod(): Promise<void> {
    // labels and annotations do not affect a process
  }

  async deletePod(pod: Pod): Promise<void> {
    const found = this.#pods.get(keyOf(pod));
    if (!found) throw notFoundError('there is no such pod');
    const running = [...found.containers.values()].filter(({ ended }) => !ended);
    if (running.length === 0) {
      this.#pods.delete(keyOf(pod));
      return;
    }
    for (const { process: child } of running) {
      child.kill('SIGTERM');
      setTimeout(
        () => child.kill('SIGKILL'),
        1000 * (pod.metadata?.deletionGracePeriodSeconds ?? 30),
      ).unref();
    }
  }

  async getPod(namespace: string, name: string): Promise<Pod | undefined> {
    const found = this.#pods.get(`${namespace}/${name}`);
    return found && { ...found.pod, status: statusOf(found) };
  }

  async getPodStatus(namespace: string, name: string): Promise<Pod['status']> {
    return (await this.getPod(namespace, name))?.status;
  }

  async getPods(): Promise<readonly Pod[]> {
    return Array.from(this.#pods.values(), (found) => ({ ...found.pod, status: statusOf(found) }));
  }

  async getContainerLogs(
    namespace: string,
    pod: string,
    container: string,
    { tail }: ContainerLogOpts,
  ): Promise<Readable> {
    const output = this.#pods.get(`${namespace}/${pod}`)?.containers.get(container)?.output;
    if (output === undefined) throw notFoundError(`container ${container} has no log`);
    const lines = output.split(/(?<=\n)/);
    return Readable.from([(tail === undefined ? lines : lines.slice(-tail)).join('')]);
  }

  #tell(pod: Pod): void {
    const found = this.#pods.get(keyOf(pod));
    if (found) this.#notify({ ...found.pod, status: statusOf(found) });
  }
}

const keyOf = ({ metadata }: Pod): string => `${metadata?.namespace}/${metadata?.name}`;

function statusOf({ containers }: { readonly containers: ReadonlyMap<string, Running> }): PodStatus {
  const all = [...containers.values()];
  const codes = all.map(({ ended }) => ended?.exitCode);
  const phase = codes.includes(undefined)
    ? 'Running'
    : codes.every((code) => code === 0)
      ? 'Succeeded'
      : 'Failed';
  const containerStatuses = Array.from(containers, ([name, { startedAt, ended }]) => ({
    name,
    image: '',
    imageID: '',
    ready: !ended,
    restartCount: 0,
    state: ended
      ? { terminated: { ...ended, startedAt, reason: ended.exitCode === 0 ? 'Completed' : 'Error' } }
      : { running: { startedAt } },
  }));
  return { phase, podIP: '127.0.0.1', containerStatuses };
}

if (process.argv[1] === import.meta.filename) {
  const node = await runNode({ nodeName: 'processes', provider: new Processes(), server: 'embedded' });
  console.log(`node processes is ready at ${node.server?.url}`);
  await node.stop();
}
