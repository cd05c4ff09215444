import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import { type JsonObject, listAt, objectAt, objectsAt, stringAt, valueAt } from '../apimachinery/json.ts';
import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { milliValueOf, parseQuantity, valueOf } from '../kube/resources/quantity.ts';
import type { KubeObject, Pod } from '../kube/types.ts';
import { type LogEntry, type LogSink, writeLog } from '../provider/logs.ts';
import type { TerminalIo } from '../provider/powers.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import type { FollowOptions, SimulatedAnswers, SimulatedUsage } from './simulated-provider.ts';

/** The time between two looks at a log file that is followed, ms. */
const followMs = 500;

type Target = Pick<ContainerRef, 'namespace' | 'pod' | 'container'>;

/**
 * ClusterAnswers answers for containers as objects of kwok define it: `Logs`, `Exec`, `Attach`, `PortForward`, `ResourceUsage`, and their
 * variants for the whole cluster. An object of a pod's own name takes precedence.
 */
export class ClusterAnswers implements SimulatedAnswers {
  readonly #clock: Clock;
  readonly #objects: () => readonly KubeObject[];

  /** @param objects returns the objects in force */
  constructor(clock: Clock, objects: () => readonly KubeObject[]) {
    this.#clock = clock;
    this.#objects = objects;
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
    return runProgram(command, io, { signal, env, ...(workDir !== '' && { workDir }) });
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
    const forward = this.#specs('PortForward', { namespace, pod: name })
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
    const usage = objectAt(this.#entryOf('ResourceUsage', 'usages', target), 'usage');
    const cpu = amountOf(objectAt(usage, 'cpu'), pod);
    const memory = amountOf(objectAt(usage, 'memory'), pod);
    return {
      ...(cpu !== undefined && { cpuCores: milliValueOf(parseQuantity(cpu)) / 1000 }),
      ...(memory !== undefined && { memoryBytes: valueOf(parseQuantity(memory)) }),
    };
  }

  /** Returns the entry of an object that is for the container: one that names it, or that names none. */
  #entryOf(kind: string, list: string, target: Target): JsonObject | undefined {
    const entries = this.#specs(kind, target).flatMap((spec) => objectsAt(spec, list));
    return entries.find((entry) => {
      const containers = listAt(entry, 'containers');
      return containers.length === 0 || containers.includes(target.container);
    });
  }

  /** Returns the specs that are for the pod, the one of its own name first. */
  #specs(kind: string, { namespace, pod }: Pick<Target, 'namespace' | 'pod'>): readonly JsonObject[] {
    const all = this.#objects() as readonly (KubeObject & JsonObject)[];
    const own = all.filter(
      (one) =>
        one.kind === kind &&
        one.metadata?.name === pod &&
        (one.metadata.namespace ?? 'default') === namespace,
    );
    const general = all.filter((one) => {
      if (one.kind !== `Cluster${kind}`) return false;
      const selector = objectAt(objectAt(one, 'spec'), 'selector');
      const fits = (key: string, value: string): boolean =>
        listAt(selector, key).length === 0 || listAt(selector, key).includes(value);
      return fits('matchNamespaces', namespace) && fits('matchNames', pod);
    });
    return [...own, ...general].map((one) => objectAt(one, 'spec'));
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

const fromAnnotation = /^Quantity\((?:"([^"]+)"|pod\.metadata\.annotations\["([^"]+)"\])\)$/;

/** Returns an amount: its value, or an expression `Quantity("…")` or `Quantity(pod.metadata.annotations["…"])`. */
function amountOf(amount: JsonObject, pod: Pod | undefined): string | undefined {
  const value = valueAt(amount, 'value');
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  const expression = stringAt(amount, 'expression');
  if (expression === '') return undefined;
  const [, literal, key] = fromAnnotation.exec(expression) ?? [];
  if (literal === undefined && key === undefined)
    throw new AgentError(
      'invalid_argument',
      `usage expression ${JSON.stringify(expression)}: supported are Quantity("…") and Quantity(pod.metadata.annotations["…"])`,
    );
  return literal ?? pod?.metadata?.annotations?.[key ?? ''];
}

interface Program {
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
  readonly workDir?: string;
}

/** Runs a program of this machine with the streams of an exec; resolves with its exit code. */
function runProgram(
  [program = '', ...args]: readonly string[],
  io: TerminalIo,
  { signal, env, workDir }: Program,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...env },
      signal,
      ...(workDir !== undefined && { cwd: workDir }),
    });
    child.once('error', reject);
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
