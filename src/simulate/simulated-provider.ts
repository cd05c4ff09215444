import type { Duplex } from 'node:stream';
import { fnv1a32 } from '../base/fnv.ts';
import { AgentError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Pod } from '../kube/types.ts';
import { writeLog, type LogOptions, type LogSink } from '../provider/logs.ts';
import type { TerminalIo } from '../provider/powers.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import type { PodUsage } from '../provider/usage.ts';
import { behaviourOf, MemoryProvider, memoryAnnotation } from '../providers/memory/index.ts';

/** Options of a log that may be followed. */
export interface FollowOptions extends LogOptions {
  /** Aborts when the container ends: what was written until then is the rest of the log. */
  readonly ended?: AbortSignal;
}

/** What the containers of all nodes answer, as far as objects of the cluster define it. An absent answer means the default. */
export interface SimulatedAnswers {
  readLogs?(
    container: ContainerRef,
    options: FollowOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<boolean>;
  exec?(
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number | undefined>;
  attach?(
    container: ContainerRef,
    io: TerminalIo,
    signals: { readonly signal: AbortSignal; readonly ended: AbortSignal },
  ): Promise<boolean>;
  portForward?(pod: RuntimePodStatus, port: number, stream: Duplex, signal: AbortSignal): Promise<boolean>;
  /** Returns what a container uses while it runs. */
  usage?(
    container: Pick<ContainerRef, 'namespace' | 'pod' | 'container'>,
    pod: Pod | undefined,
  ): SimulatedUsage;
}

/** What a container uses; an absent amount means that of its annotations. */
export interface SimulatedUsage {
  readonly cpuCores?: number;
  readonly memoryBytes?: number;
}

/** Dependencies of a SimulatedProvider. */
export interface SimulatedProviderDeps {
  readonly clock: Clock;
  readonly node: string;
  readonly podIP: (serial: number) => string;
  readonly podOf: (namespace: string, name: string) => Pod | undefined;
  readonly answers?: SimulatedAnswers;
}

/** Annotation with the log of a pod's containers: `podtender.io/memory.[NAME.]log`. */
const logAnnotation = (container?: string): string =>
  `${memoryAnnotation}${container === undefined ? '' : `${container}.`}log`;

/**
 * SimulatedProvider is the container runtime of one simulated node: pods as records whose behaviour is set by annotations, with logs, exec,
 * attach and port-forward.
 */
export class SimulatedProvider extends MemoryProvider {
  readonly #deps: SimulatedProviderDeps;

  constructor(deps: SimulatedProviderDeps) {
    super({ clock: deps.clock, podIP: deps.podIP, idPrefix: `memory://${idOf(deps.node)}`, keptPods: 100 });
    this.#deps = deps;
  }

  /** Ends every container, as a restart of the machine does. */
  async reboot(): Promise<void> {
    for (const { uid, containers } of await this.listPods())
      for (const { name, state } of containers) if (state === 'running') this.endContainer(uid, name, 255);
  }

  override async listUsage(): Promise<readonly PodUsage[]> {
    const pods = await super.listUsage();
    const { answers } = this.#deps;
    return pods.map(({ namespace, name, containers, ...pod }) => ({
      ...{ ...pod, namespace, name },
      containers: containers.map((container) => {
        const target = { namespace, pod: name, container: container.name };
        const { cpuCores = 0, memoryBytes } = answers?.usage?.(target, this.#podOf(target)) ?? {};
        const { startedAt = container.at } = container;
        return {
          ...container,
          // the time that a constant usage has added up to
          cpuNanos: Math.round(cpuCores * (container.at - startedAt) * 1e6),
          cpuNanoCores: Math.round(cpuCores * 1e9),
          ...(memoryBytes !== undefined && { memoryBytes, workingSetBytes: memoryBytes }),
        };
      }),
    }));
  }

  async readLogs(
    container: ContainerRef,
    options: LogOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<void> {
    if (await this.#answeredLog(container, options, sink, signal)) return;
    const instance = await this.#instanceOf(container);
    const { startedAt: at, finishedAt, exitCode } = instance;
    const { clock } = this.#deps;
    const now = clock.now();
    const annotated = this.#annotatedLog(container);
    const first = annotated?.split('\n') ?? [`simulated container ${container.container} started`];
    const ended = finishedAt !== undefined && annotated === undefined;
    const lines = [
      ...first.map((text) => ({ text, ...(at !== undefined && { at }) })),
      ...(ended ? [{ text: `simulated container exited with code ${exitCode}`, at: finishedAt }] : []),
    ];
    await writeLog(lines, options, sink, { now, signal });
    if (options.follow === true && finishedAt === undefined) await this.#untilEnded(container, signal);
  }

  async exec(
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number> {
    const { answers } = this.#deps;
    const answered = await this.#whileRunning(container, signal, (ended) =>
      answers?.exec?.(container, command, io, AbortSignal.any([signal, ended])),
    );
    if (answered !== undefined) return answered;
    const pod = this.#podOf(container);
    const { stdout = '', exitCode } = builtInCommand(command, container, pod);
    if (stdout !== '') io.stdout?.write(io.tty ? stdout.replace(/\n/g, '\r\n') : stdout);
    return exitCode ?? (pod ? behaviourOf(pod, container.container).execExitCode : 0);
  }

  async attach(container: ContainerRef, io: TerminalIo, signal: AbortSignal): Promise<void> {
    const { answers } = this.#deps;
    const answered = await this.#whileRunning(container, signal, (ended) =>
      answers?.attach?.(container, io, { signal, ended }),
    );
    if (answered !== true) await this.#untilEnded(container, signal);
  }

  async portForward(pod: RuntimePodStatus, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    if (await this.#deps.answers?.portForward?.(pod, port, stream, signal)) return;
    throw new AgentError(
      'unavailable',
      `nothing listens on port ${port} of simulated pod ${pod.namespace}/${pod.name}: a PortForward object (kwok.x-k8s.io/v1alpha1) defines a target`,
    );
  }

  /** Writes the log that an object of the cluster defines; returns false when none does. */
  async #answeredLog(
    container: ContainerRef,
    options: LogOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { answers } = this.#deps;
    if (!answers?.readLogs) return false;
    const isHere = options.follow === true && (await this.#instanceOf(container).catch(() => undefined));
    if (!isHere) return answers.readLogs(container, options, sink, signal);
    return this.#whileRunning(container, signal, (ended) =>
      answers.readLogs?.(container, { ...options, ended }, sink, signal),
    ).then((answered) => answered === true);
  }

  /** Calls `act` with a signal that aborts when the container ends. */
  async #whileRunning<T>(
    container: ContainerRef,
    signal: AbortSignal,
    act: (ended: AbortSignal) => Promise<T> | undefined,
  ): Promise<T | undefined> {
    const [ended, over] = [new AbortController(), new AbortController()];
    void this.#untilEnded(container, AbortSignal.any([signal, over.signal])).then(() => {
      ended.abort();
    });
    try {
      return await act(ended.signal);
    } finally {
      over.abort();
    }
  }

  #podOf({ namespace, pod }: Pick<ContainerRef, 'namespace' | 'pod'>): Pod | undefined {
    return this.#deps.podOf(namespace, pod);
  }

  #annotatedLog(container: ContainerRef): string | undefined {
    const { annotations = {} } = this.#podOf(container)?.metadata ?? {};
    return annotations[logAnnotation(container.container)] ?? annotations[logAnnotation()];
  }

  async #instanceOf({ podUid: uid, pod: name, namespace, id, container }: ContainerRef): Promise<{
    readonly startedAt?: number;
    readonly finishedAt?: number;
    readonly exitCode: number;
  }> {
    const { containerStatuses } = await this.getPodStatus({ uid, name, namespace });
    // the status of a pod that stages play may name no ID
    const found = containerStatuses.find((one) => (id === '' ? one.name === container : one.id === id));
    if (found) return found;
    throw new AgentError('not_found', `container ${container} of pod ${namespace}/${name} has no log`);
  }

  /** Resolves when the container has ended or `signal` aborts. */
  async #untilEnded(container: ContainerRef, signal: AbortSignal): Promise<void> {
    const ended = Promise.withResolvers<undefined>();
    const look = async (): Promise<void> => {
      const instance = await this.#instanceOf(container).catch(() => undefined);
      if (!instance || instance.finishedAt !== undefined) ended.resolve(undefined);
    };
    const off = this.onPodEvent((uid) => {
      if (uid === container.podUid) void look();
    });
    const abort = (): void => {
      ended.resolve(undefined);
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    void look();
    await ended.promise;
    off();
    signal.removeEventListener('abort', abort);
  }
}

const idOf = (node: string): string => fnv1a32(node).toString(16).padStart(8, '0');

/** Returns what a command of the shell prints in a simulated container; no exit code: the annotation `exec-exit-code` decides. */
function builtInCommand(
  [program = '', ...rest]: readonly string[],
  { pod: name }: ContainerRef,
  pod: Pod | undefined,
): { readonly stdout?: string; readonly exitCode?: number } {
  switch (program) {
    case 'echo':
      return { stdout: `${rest.join(' ')}\n` };
    case 'hostname':
      return { stdout: `${pod?.spec?.hostname ?? name}\n` };
    case 'true':
      return { exitCode: 0 };
    case 'false':
      return { exitCode: 1 };
    default:
      return {};
  }
}
