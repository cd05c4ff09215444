import { once } from 'node:events';
import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { AgentError } from '../base/errors.ts';
import type { TerminalIo } from '../provider/powers.ts';
import type { LogStream } from './cri-log.ts';
import { maxBacklogBytes } from './log-pump.ts';
import { readIfThere } from './files.ts';
import { sendSignal } from './sweep.ts';

const chunkBytes = 65_536;

/** A running container whose streams a client attaches to. */
export interface AttachableContainer {
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly record: {
    readonly id: string;
    readonly config: { readonly stdin?: boolean; readonly stdinOnce?: boolean };
  };
  /** Directory of its stream files. */
  readonly runDir: string;
  /** Calls `listener` when the container's process may have written output; returns a function that removes the listener. */
  onOutput(listener: () => void): () => void;
  /** Returns the number of bytes released from the start of a stream file. */
  freedOutput(name: LogStream): number;
  /** Resolves when the container's process has exited. */
  ended(signal: AbortSignal): Promise<unknown>;
}

/**
 * Attaches to a container's process: output from now on and, when the container has one, its stdin. Resolves when the
 * container has exited; an aborted `signal` (the client disconnected) ends it too.
 *
 * @throws {AgentError} `failed_precondition` when the container is not running
 */
export async function attachStreams(
  container: AttachableContainer,
  io: TerminalIo,
  signal: AbortSignal,
): Promise<void> {
  if (container.state !== 'running') {
    throw new AgentError('failed_precondition', `container ${container.record.id} is not running`);
  }
  const followers = [
    ...(io.stdout ? [new Follower(container, 'stdout', io.stdout)] : []),
    ...(io.stderr ? [new Follower(container, 'stderr', io.stderr)] : []),
  ];
  const off = container.onOutput(() => {
    for (const follower of followers) follower.read();
  });
  const detach = attachStdin(container, io);
  try {
    await container.ended(signal);
    await Promise.all(followers.map((follower) => follower.rest(signal)));
  } catch (reason) {
    if (!signal.aborted) throw reason;
  } finally {
    off();
    detach();
    for (const follower of followers) follower.close();
  }
}

/**
 * Follower reads a raw output file from its current end at the client's pace. The open file survives its removal, so the last output is not
 * lost. A slow client for which data was already released continues with what is left; containerd blocks the
 * container and its log instead.
 */
class Follower {
  readonly #container: AttachableContainer;
  readonly #name: LogStream;
  readonly #to: Writable;
  readonly #file: number;
  #offset: number;
  #isPaused = false;
  readonly #goOn = (): void => {
    this.#isPaused = false;
    this.read();
  };

  constructor(container: AttachableContainer, name: LogStream, to: Writable) {
    this.#container = container;
    this.#name = name;
    this.#to = to;
    this.#file = openSync(join(container.runDir, name), 'r');
    this.#offset = fstatSync(this.#file).size;
    to.on('drain', this.#goOn);
  }

  /** Writes available output until the client's buffer is full. */
  read(): void {
    while (!this.#isPaused) {
      this.#offset = Math.max(this.#offset, this.#container.freedOutput(this.#name));
      const { size } = fstatSync(this.#file);
      if (size < this.#offset) this.#offset = 0; // truncated by its container
      if (size - this.#offset > maxBacklogBytes) this.#offset = size;
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const bytes = readSync(this.#file, chunk, 0, chunkBytes, this.#offset);
      if (bytes === 0) return;
      this.#offset += bytes;
      this.#isPaused = !this.#to.write(chunk.subarray(0, bytes));
    }
  }

  /** Writes all remaining output. @throws the signal's reason */
  async rest(signal: AbortSignal): Promise<void> {
    this.read();
    while (this.#isPaused) {
      await once(this.#to, 'drain', { signal });
      this.read();
    }
  }

  close(): void {
    this.#to.off('drain', this.#goOn);
    closeSync(this.#file);
  }
}

/** Writes the client's input to the container's FIFO. With `stdinOnce`, the end of the client's input closes the container's stdin. */
function attachStdin(container: AttachableContainer, io: TerminalIo): () => void {
  const path = join(container.runDir, 'stdin');
  const { stdin } = io;
  if (!stdin || container.record.config.stdin !== true || !existsSync(path)) return () => undefined;
  // A socket, so that a container that does not read blocks the client and not a file thread of the agent.
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
