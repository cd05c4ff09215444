import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { AgentError } from '../../base/errors.ts';
import type { TerminalIo } from '../../provider/powers.ts';
import { readIfThere } from './files.ts';
import type { ProcessContainer } from './process-container.ts';
import { sendSignal } from './sweep.ts';

const chunkBytes = 65_536;

/**
 * Joins the streams of a container's own process: what it writes from now on, and its stdin where it has one. Resolves when the
 * container has ended; the client's leaving (`signal`) ends it too.
 *
 * @throws {AgentError} `failed_precondition` the container does not run
 */
export async function attachStreams(
  container: ProcessContainer,
  io: TerminalIo,
  signal: AbortSignal,
): Promise<void> {
  if (container.state !== 'running') {
    throw new AgentError('failed_precondition', `container ${container.record.id} is not running`);
  }
  const followers = [follow(container, 'stdout', io.stdout), follow(container, 'stderr', io.stderr)];
  const off = container.onOutput(() => {
    for (const follower of followers) follower.read();
  });
  const detach = attachStdin(container, io);
  try {
    await container.ended(signal);
  } catch (reason) {
    if (!signal.aborted) throw reason;
  } finally {
    off();
    detach();
    for (const follower of followers) follower.end();
  }
}

/** Reads one raw file from its present end on. The open file outlives its removal, so the last words are not lost. */
function follow(
  container: ProcessContainer,
  name: 'stdout' | 'stderr',
  to: Writable | undefined,
): { readonly read: () => void; readonly end: () => void } {
  if (!to) return { read: () => undefined, end: () => undefined };
  const file = openSync(join(container.runDir, name), 'r');
  let offset = fstatSync(file).size;
  const read = (): void => {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (let bytes = readSync(file, chunk, 0, chunkBytes, offset); bytes > 0;) {
      offset += bytes;
      to.write(Buffer.from(chunk.subarray(0, bytes)));
      bytes = readSync(file, chunk, 0, chunkBytes, offset);
    }
  };
  return {
    read,
    end: () => {
      read();
      closeSync(file);
    },
  };
}

/** Feeds the container's fifo. With `stdinOnce` the end of the client's input is the end of the container's. */
function attachStdin(container: ProcessContainer, io: TerminalIo): () => void {
  const path = join(container.runDir, 'stdin');
  const { stdin } = io;
  if (!stdin || container.record.config.stdin !== true || !existsSync(path)) return () => undefined;
  // as a socket, so that a container which does not read holds back its client and not the agent's file threads
  const fifo = new Socket({ fd: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), readable: false });
  fifo.on('error', () => undefined);
  const holder = Number(readIfThere(join(container.runDir, 'holder')));
  stdin.once('end', () => {
    if (container.record.config.stdinOnce && holder > 0) sendSignal(holder, 'SIGKILL');
  });
  stdin.pipe(fifo);
  return () => {
    stdin.unpipe(fifo);
    fifo.destroy();
  };
}
