import { PassThrough } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { LogOptions } from '../provider/logs.ts';
import type { ProviderPowers, TerminalIo } from '../provider/powers.ts';
import type { AnyProvider, AttachIO, Context, ContainerLogOpts } from './contract.ts';
import { ExitError } from './contract.ts';

type Served = Pick<
  ProviderPowers,
  'readLogs' | 'exec' | 'execSync' | 'attach' | 'portForward' | 'statsSummary' | 'resourceMetrics'
>;

/** What a virtual-kubelet provider serves of its pods, as powers of a pod provider; what it lacks is absent. */
export function servedPowers(
  handler: AnyProvider,
  clock: Clock,
  contextOf: (signal: AbortSignal) => Context,
): Served {
  const exec = execPower(handler, contextOf);
  return {
    ...streamPowers(handler, contextOf),
    ...statsPowers(handler, contextOf),
    ...(exec && { exec, execSync: collected(exec, clock) }),
  };
}

function execPower(
  handler: AnyProvider,
  contextOf: (signal: AbortSignal) => Context,
): NonNullable<Served['exec']> | undefined {
  const run = handler.runInContainer?.bind(handler);
  return (
    run &&
    (async ({ namespace, pod, container }, command, io, signal) => {
      try {
        await run(namespace, pod, container, command, attachOf(io), contextOf(signal));
        return 0;
      } catch (reason) {
        const code = exitCodeOf(reason);
        if (code === undefined) throw reason;
        return code;
      }
    })
  );
}

function statsPowers(handler: AnyProvider, contextOf: (signal: AbortSignal) => Context): Served {
  const summary = handler.getStatsSummary?.bind(handler);
  const resource = handler.getMetricsResource?.bind(handler);
  return {
    ...(summary && { statsSummary: (signal) => summary(contextOf(signal)) }),
    ...(resource && { resourceMetrics: (signal) => resource(contextOf(signal)) }),
  };
}

function streamPowers(handler: AnyProvider, contextOf: (signal: AbortSignal) => Context): Served {
  const logs = handler.getContainerLogs?.bind(handler);
  const attach = handler.attachToContainer?.bind(handler);
  const forward = handler.portForward?.bind(handler);
  return {
    ...(logs && {
      readLogs: async ({ namespace, pod, container }, options, sink, signal) => {
        const stream = await logs(namespace, pod, container, logOptsOf(options), contextOf(signal));
        const end = (): void => void stream.destroy();
        signal.addEventListener('abort', end, { once: true });
        try {
          for await (const chunk of stream) await sink(bufferOf(chunk));
        } catch (reason) {
          if (!signal.aborted) throw reason;
        } finally {
          signal.removeEventListener('abort', end);
          stream.destroy();
        }
      },
    }),
    ...(attach && {
      attach: ({ namespace, pod, container }, io, signal) =>
        attach(namespace, pod, container, attachOf(io), contextOf(signal)),
    }),
    ...(forward && {
      portForward: ({ namespace, name }, port, stream, signal) =>
        forward(namespace, name, port, stream, contextOf(signal)),
    }),
  };
}

const bufferOf = (chunk: unknown): Buffer =>
  Buffer.isBuffer(chunk)
    ? chunk
    : chunk instanceof Uint8Array
      ? Buffer.from(chunk)
      : Buffer.from(String(chunk));

const attachOf = ({ stdin, stdout, stderr, tty, resize }: TerminalIo): AttachIO => ({
  ...(stdin && { stdin }),
  ...(stdout && { stdout }),
  ...(stderr && { stderr }),
  tty,
  ...(resize && { resize }),
});

const logOptsOf = (options: LogOptions): ContainerLogOpts => ({
  ...(options.tailLines !== undefined && options.tailLines >= 0 && { tail: options.tailLines }),
  ...(options.limitBytes !== undefined && { limitBytes: options.limitBytes }),
  ...(options.timestamps !== undefined && { timestamps: options.timestamps }),
  ...(options.follow !== undefined && { follow: options.follow }),
  ...(options.previous !== undefined && { previous: options.previous }),
  ...(options.sinceSeconds !== undefined && { sinceSeconds: options.sinceSeconds }),
  ...(options.sinceTime !== undefined && { sinceTime: new Date(options.sinceTime) }),
});

/** The exit code that an error tells, through its causes: as `exitCode`, `code` or Go's `ExitStatus()`. */
function exitCodeOf(reason: unknown): number | undefined {
  for (let current = reason, depth = 0; current instanceof Error && depth < 20; depth++) {
    if (current instanceof ExitError) return current.exitCode;
    const { exitCode, exitStatus } = current as { exitCode?: unknown; exitStatus?: unknown };
    if (typeof exitCode === 'number') return exitCode;
    if (typeof exitStatus === 'function') return Number(exitStatus.call(current));
    current = current.cause;
  }
  return undefined;
}

/** Runs a command and collects what it prints, for probes, hooks and `/run`. */
const collected =
  (exec: NonNullable<Served['exec']>, clock: Clock): NonNullable<Served['execSync']> =>
  async (container, command, timeoutMs) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const stop = new AbortController();
    const late = Promise.withResolvers<never>();
    const off =
      timeoutMs > 0
        ? clock.timer(timeoutMs, () => {
            const fault = new AgentError('deadline_exceeded', `command did not end within ${timeoutMs} ms`);
            stop.abort(fault);
            late.reject(fault);
          })
        : undefined;
    const outputs = Promise.all([contentOf(stdout), contentOf(stderr)]);
    try {
      const io = { stdout, stderr, tty: false };
      const exitCode = await Promise.race([exec(container, command, io, stop.signal), late.promise]);
      stdout.end();
      stderr.end();
      const [out, err] = await outputs;
      return { exitCode, stdout: out, stderr: err };
    } finally {
      off?.();
      stdout.destroy();
      stderr.destroy();
      outputs.catch(() => undefined);
    }
  };

async function contentOf(stream: PassThrough): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(bufferOf(chunk));
  return Buffer.concat(chunks);
}
