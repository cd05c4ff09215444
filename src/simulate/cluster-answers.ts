import { connect } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import { type JsonObject, listAt, objectAt, objectsAt, stringAt, valueAt } from '../apimachinery/json.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { KubeObject, Pod } from '../kube/types.ts';
import { type LogSink, writeLog } from '../provider/logs.ts';
import type { TerminalIo } from '../provider/powers.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import { entryFor, specsFor, type Target } from './cluster-objects.ts';
import type { ClusterUsage } from './cluster-usage.ts';
import { type LocalProgram, runLocalProgram } from './local-programs.ts';
import { logFileLines } from './log-file.ts';
import type { FollowOptions, SimulatedAnswers, SimulatedUsage } from './simulated-provider.ts';

/** How long a connection to the target of a port may take, ms. */
const connectMs = 10_000;

/**
 * ClusterAnswers answers for containers as objects of kwok define it: `Logs`, `Exec`, `Attach`, `PortForward`, `ResourceUsage`, and their
 * variants for the whole cluster. An object of a pod's own name takes precedence.
 */
export class ClusterAnswers implements SimulatedAnswers {
  readonly #clock: Clock;
  readonly #objects: () => readonly KubeObject[];
  readonly #usage: Pick<ClusterUsage, 'usage'>;

  /** @param objects returns the objects in force */
  constructor(clock: Clock, objects: () => readonly KubeObject[], usage: Pick<ClusterUsage, 'usage'>) {
    this.#clock = clock;
    this.#objects = objects;
    this.#usage = usage;
  }

  async readLogs(
    container: ContainerRef,
    options: FollowOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<boolean> {
    const entry = this.#entryOf('Logs', 'logs', container);
    if (!entry) return false;
    const file = stringAt(entry, options.previous === true ? 'previousLogsFile' : 'logsFile');
    if (file === '')
      throw new AgentError('not_found', `the Logs object of pod ${container.pod} names no file for this log`);
    const { ended, ...selection } = options;
    const lines = logFileLines(file, {
      follow: options.follow === true && entry['follow'] !== false,
      ...(options.tailLines !== undefined && { tailLines: options.tailLines }),
      clock: this.#clock,
      over: ended ? AbortSignal.any([signal, ended]) : signal,
    });
    // the lines already are the tail
    await writeLog(lines, { ...selection, follow: true }, sink, { now: this.#clock.now(), signal });
    return true;
  }

  async exec(
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const local = objectAt(this.#entryOf('Exec', 'execs', container), 'local');
    if (Object.keys(local).length === 0) return undefined;
    const workDir = stringAt(local, 'workDir');
    const env = new Map(
      objectsAt(local, 'envs').map((one) => [stringAt(one, 'name'), stringAt(one, 'value')]),
    );
    const program = { command, env, ...(workDir !== '' && { workDir }) };
    return runLocalProgram({ ...program, ...userOf(objectAt(local, 'securityContext')) }, io, {
      ...{ clock: this.#clock, signal },
    });
  }

  async attach(
    container: ContainerRef,
    io: TerminalIo,
    { signal, ended }: { readonly signal: AbortSignal; readonly ended?: AbortSignal },
  ): Promise<boolean> {
    const file = stringAt(this.#entryOf('Attach', 'attaches', container) ?? {}, 'logsFile');
    if (file === '') return false;
    const over = ended ? AbortSignal.any([signal, ended]) : signal;
    // nothing reads the input of a simulated container
    io.stdin?.resume();
    for await (const { stream, text } of logFileLines(file, {
      ...{ follow: true, tailLines: 0, clock: this.#clock, over },
    })) {
      const to = stream === 'stderr' ? (io.stderr ?? io.stdout) : io.stdout;
      to?.write(io.tty ? `${text}\r\n` : `${text}\n`);
    }
    return true;
  }

  async portForward(
    { namespace, name }: RuntimePodStatus,
    port: number,
    stream: Duplex,
    signal: AbortSignal,
  ): Promise<boolean> {
    const forward = specsFor(this.#objects(), 'PortForward', { namespace, pod: name })
      .flatMap((spec) => objectsAt(spec, 'forwards'))
      .find((one) => listAt(one, 'ports').length === 0 || listAt(one, 'ports').includes(port));
    const command = listAt(forward, 'command').map(String);
    if (command.length > 0) {
      const gone = new AbortController();
      stream.once('close', () => {
        gone.abort();
      });
      const stderr = new PassThrough().resume(); // it is not part of the connection
      await runLocalProgram(
        { command, env: new Map() },
        { stdin: stream, stdout: stream, stderr, tty: false },
        { clock: this.#clock, signal: AbortSignal.any([signal, gone.signal]) },
      );
      stream.end();
      return true;
    }
    const target = objectAt(forward, 'target');
    const to = valueAt(target, 'port');
    if (typeof to !== 'number') return false;
    const place = { host: stringAt(target, 'address') || '127.0.0.1', port: to };
    await joinTo(stream, place, { clock: this.#clock, signal });
    return true;
  }

  usage(target: Target, pod: Pod | undefined): SimulatedUsage {
    return this.#usage.usage(target, pod);
  }

  #entryOf(kind: string, list: string, target: Target): JsonObject | undefined {
    return entryFor(specsFor(this.#objects(), kind, target), list, target.container);
  }
}

/** Returns the user and the group of a security context. */
function userOf(context: JsonObject): Pick<LocalProgram, 'uid' | 'gid'> {
  const [uid, gid] = [valueAt(context, 'runAsUser'), valueAt(context, 'runAsGroup')];
  return { ...(typeof uid === 'number' && { uid }), ...(typeof gid === 'number' && { gid }) };
}

/**
 * Connects a stream to a TCP port; resolves when both directions have ended, or `signal` aborts.
 *
 * @throws {AgentError} `unavailable` when the port does not accept the connection in time
 */
function joinTo(
  stream: Duplex,
  { host, port }: { readonly host: string; readonly port: number },
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    const stop = clock.timer(connectMs, () => socket.destroy(new Error('it did not answer in time')));
    const leave = (): void => void socket.destroy();
    signal.addEventListener('abort', leave, { once: true });
    stream.once('close', leave).once('error', leave);
    if (signal.aborted) leave();
    socket.once('connect', stop);
    socket.once('error', (cause) => {
      reject(new AgentError('unavailable', `port ${port} of ${host}: ${cause.message}`, { cause }));
    });
    socket.once('close', () => {
      stop();
      signal.removeEventListener('abort', leave);
      resolve();
    });
    stream.pipe(socket).pipe(stream);
  });
}
