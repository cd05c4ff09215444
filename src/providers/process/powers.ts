import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { AgentError } from '../../base/errors.ts';
import type { ContainerRef, ProviderPowers, TerminalIo } from '../../provider/powers.ts';
import { admitProcessPod } from './admission.ts';
import { attachStreams } from './attach.ts';
import { execStreams, type ExecPlan } from './exec.ts';
import { quote } from './supervisor-script.ts';
import type { ProcessRuntime } from './runtime.ts';

/** The powers that a process provider adds to what `kuberuntime` makes of the runtime. */
export type ProcessPowers = Required<
  Pick<ProviderPowers, 'admit' | 'exec' | 'attach' | 'portForward' | 'onPodEvent'>
>;

/** Live streams, port forwarding, early notice of changes and admission, over one {@link ProcessRuntime}. */
export function processPowers(runtime: ProcessRuntime): ProcessPowers {
  const { uid, gid } = runtime.host;
  return {
    admit: (pod, activePods) => admitProcessPod(pod, activePods, { images: runtime.images, uid, gid }),
    exec: (container, command, io, signal) => exec(runtime, { container, command, io }, signal),
    attach: (container, io, signal) => attachStreams(runtime.container(idOf(container)), io, signal),
    portForward: (_pod, port, stream, signal) => forwardPort(port, stream, signal),
    onPodEvent: (listener) =>
      runtime.events.on('change', (podUid) => {
        listener(podUid);
      }),
  };
}

/** CRI knows a container by the id alone, `ContainerRef` by `type://id`. */
function idOf(container: ContainerRef): string {
  return container.id.replace(/^\w+:\/\//, '');
}

interface ExecCall {
  readonly container: ContainerRef;
  readonly command: readonly string[];
  readonly io: TerminalIo;
}

async function exec(runtime: ProcessRuntime, call: ExecCall, signal: AbortSignal): Promise<number> {
  const plan = runtime.execPlan(idOf(call.container), call.command);
  const { stdin, stdout, stderr } = call.io;
  const streams = { ...(stdin && { stdin }), ...(stdout && { stdout }), ...(stderr && { stderr }) };
  if (!call.io.tty) return execStreams(plan, streams, signal);
  return execStreams(await withTerminal(plan, runtime.host.script, call.io), streams, signal);
}

/** Gives the command a terminal by util-linux's `script`, in the size that the client has at first. */
async function withTerminal(plan: ExecPlan, script: string | undefined, io: TerminalIo): Promise<ExecPlan> {
  if (script === undefined) {
    throw new AgentError(
      'unimplemented',
      'a terminal (-t) needs the program script (bsdutils); go without -t',
    );
  }
  const first = await io.resize?.[Symbol.asyncIterator]().next();
  const size = first?.done === false ? first.value : undefined;
  const resize = size && size.width > 0 ? `stty cols ${size.width} rows ${size.height}; ` : '';
  const line = `${resize}exec ${plan.argv.map(quote).join(' ')}`;
  const env = new Map([...plan.env, ['SHELL', '/bin/sh'] as const]);
  if (!env.has('TERM')) env.set('TERM', 'xterm');
  return { ...plan, env, argv: [script, '-qefc', line, '/dev/null'] };
}

/** Processes listen on the host, so a port of the pod is a port of the loopback address. */
function forwardPort(port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    const abort = (): void => void socket.destroy();
    signal.addEventListener('abort', abort, { once: true });
    socket.once('error', (cause) => {
      reject(new AgentError('unavailable', `port ${port} of the pod: ${cause.message}`, { cause }));
    });
    socket.once('close', () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
    stream.once('error', abort);
    socket.pipe(stream).pipe(socket);
  });
}
