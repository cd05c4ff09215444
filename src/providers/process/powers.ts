import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { AgentError } from '../../base/errors.ts';
import type { ProviderPowers, TerminalIo } from '../../provider/powers.ts';
import type { ContainerRef } from '../../provider/refs.ts';
import { admitProcessPod } from './admission.ts';
import { attachStreams } from '../../processes/attach.ts';
import { execStreams } from '../../processes/exec.ts';
import type { ProcessContainer } from './process-container.ts';
import type { ProcessRuntime } from './runtime.ts';
import { execTerminal, resizeTerminal } from '../../processes/terminal.ts';

/** Powers of a process provider in addition to those that `kuberuntime` builds on the runtime. */
export type ProcessPowers = Required<
  Pick<ProviderPowers, 'admit' | 'exec' | 'attach' | 'portForward' | 'onPodEvent'>
>;

/** Returns the powers of a {@link ProcessRuntime}: attach and exec streams, port forwarding, change notifications and admission. */
export function processPowers(runtime: ProcessRuntime): ProcessPowers {
  const { uid, gid, terminal } = runtime.host;
  const hasTerminals = terminal !== undefined;
  return {
    admit: (pod, activePods) =>
      admitProcessPod(pod, activePods, { images: runtime.images, uid, gid, hasTerminals }),
    exec: (container, command, io, signal) => exec(runtime, { container, command, io }, signal),
    attach: (container, io, signal) => attach(runtime, runtime.container(idOf(container)), io, signal),
    portForward: (_pod, port, stream, signal) => forwardPort(port, stream, signal),
    onPodEvent: (listener) =>
      runtime.events.on('change', (podUid) => {
        listener(podUid);
      }),
  };
}

/** Returns the bare id of a container: CRI uses the id only, `ContainerRef` has `type://id`. */
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
  const { terminal: tools } = runtime.host;
  if (!tools)
    throw new AgentError(
      'unimplemented',
      'a terminal (-t) needs the programs script (bsdutils) and stty (coreutils); go without -t',
    );
  return execTerminal(plan, { tools, io: call.io, clock: runtime.clock }, signal);
}

/** Attaches to a container. A terminal takes the size of the client that resized last. */
async function attach(
  { host: { terminal } }: ProcessRuntime,
  container: ProcessContainer,
  io: TerminalIo,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  if (terminal && io.tty && io.resize && container.pid !== undefined)
    void resizeTerminal(terminal, container.pid, io.resize, over.signal);
  try {
    await attachStreams(container, io, signal);
  } finally {
    over.abort();
  }
}

/** Connects to a port of the pod on the loopback address, as its processes listen on the host. */
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
