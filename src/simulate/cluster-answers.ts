import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import { type JsonObject, listAt, objectAt, objectsAt, stringAt, valueAt } from '../apimachinery/json.ts';
import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { KubeObject, Pod } from '../kube/types.ts';
import { type LogEntry, type LogSink, writeLog } from '../provider/logs.ts';
import type { TerminalIo } from '../provider/powers.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import { entryFor, specsFor, type Target } from './cluster-objects.ts';
import type { ClusterUsage } from './cluster-usage.ts';
import type { FollowOptions, SimulatedAnswers, SimulatedUsage } from './simulated-provider.ts';

/** The time between two looks at a log file that is followed, ms. */
const followMs = 500;

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
    const follow = options.follow === true && entry['follow'] !== false;
    await this.#writeFile(file, { ...options, follow }, sink, signal);
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
    const env = Object.fromEntries(
      objectsAt(local, 'envs').map((one) => [stringAt(one, 'name'), stringAt(one, 'value')]),
    );
    const user = userOf(objectAt(local, 'securityContext'));
    return runProgram(command, io, { signal, env, ...(workDir !== '' && { workDir }), ...user });
  }

  async attach(container: ContainerRef, io: TerminalIo, signal: AbortSignal): Promise<boolean> {
    const file = stringAt(this.#entryOf('Attach', 'attaches', container) ?? {}, 'logsFile');
    if (file === '') return false;
    await this.#writeFile(file, { follow: true }, (bytes) => void io.stdout?.write(bytes), signal);
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
      const stderr = new PassThrough().resume(); // it is not part of the connection
      await runProgram(command, { stdin: stream, stdout: stream, stderr, tty: false }, { signal, env: {} });
      stream.end();
      return true;
    }
    const target = objectAt(forward, 'target');
    const to = valueAt(target, 'port');
    if (typeof to !== 'number') return false;
    await joinTo(stream, stringAt(target, 'address') || '127.0.0.1', to, signal);
    return true;
  }

  usage(target: Target, pod: Pod | undefined): SimulatedUsage {
    return this.#usage.usage(target, pod);
  }

  #entryOf(kind: string, list: string, target: Target): JsonObject | undefined {
    return entryFor(specsFor(this.#objects(), kind, target), list, target.container);
  }

  /** Writes a file as a log; with `follow`, what is added to it until the container ends or `signal` aborts. */
  async #writeFile(
    file: string,
    { ended, ...options }: FollowOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<void> {
    const clock = this.#clock;
    let text = await read(file);
    await writeLog(entriesOf(text), { ...options, follow: false }, sink, { now: clock.now(), signal });
    const over = ended ? AbortSignal.any([signal, ended]) : signal;
    while (options.follow === true && !isAborted(over)) {
      await clock.sleep(followMs, over).catch(() => undefined);
      const longer = await read(file);
      const added = longer.slice(text.length);
      const { tailLines: _, ...rest } = options;
      if (added !== '')
        await writeLog(entriesOf(added), { ...rest, follow: false }, sink, { now: clock.now(), signal });
      text = longer;
    }
  }
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new AgentError('not_found', `the log cannot be read: ${messageOf(cause)}`, { cause });
  }
}

const criLine = /^(\d{4}-\d\d-\d\dT\S+) (stdout|stderr) [FP] ?(.*)$/;

/** Splits a log into lines; those in the format of container runtimes have a time and a stream. */
function entriesOf(text: string): readonly LogEntry[] {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      const [, at = '', stream, content = ''] = criLine.exec(line) ?? [];
      if (stream === undefined) return { text: line };
      return { at: Date.parse(at), stream: stream === 'stderr' ? 'stderr' : 'stdout', text: content };
    });
}

interface Program {
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
  readonly workDir?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** Runs a program of this machine with the streams of an exec; resolves with its exit code. */
function runProgram(
  [program = '', ...args]: readonly string[],
  io: TerminalIo,
  { signal, env, workDir, ...user }: Program,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...env },
      signal,
      ...(workDir !== undefined && { cwd: workDir }),
      ...user,
    });
    child.once('error', (cause: NodeJS.ErrnoException) => {
      reject(cause.code === 'EPERM' ? notPermitted(user, cause) : cause);
    });
    child.once('close', (code) => {
      resolve(code ?? 137);
    });
    child.stdout.on('data', (bytes: Buffer) => io.stdout?.write(bytes));
    child.stderr.on('data', (bytes: Buffer) => (io.stderr ?? io.stdout)?.write(bytes));
    child.stdin.on('error', () => undefined);
    if (io.stdin) io.stdin.pipe(child.stdin);
    else child.stdin.end();
  });
}

/** Returns the user and the group of a security context. */
function userOf(context: JsonObject): Pick<Program, 'uid' | 'gid'> {
  const [uid, gid] = [valueAt(context, 'runAsUser'), valueAt(context, 'runAsGroup')];
  return { ...(typeof uid === 'number' && { uid }), ...(typeof gid === 'number' && { gid }) };
}

const notPermitted = ({ uid, gid }: Pick<Program, 'uid' | 'gid'>, cause: Error): AgentError =>
  new AgentError(
    'permission_denied',
    `securityContext: this simulation may not run programs as user ${uid ?? 'of its own'} and group ${gid ?? 'of its own'}: run it as root`,
    { cause },
  );

/** Connects a stream to a TCP port; resolves when both directions have ended. */
function joinTo(stream: Duplex, host: string, port: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    socket.once('error', reject);
    socket.once('close', () => {
      resolve();
    });
    stream.once('error', () => socket.destroy());
    stream.pipe(socket).pipe(stream);
  });
}
