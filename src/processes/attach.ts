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

/** The running container whose streams are joined. */
export interface AttachableContainer {
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly record: {
    readonly id: string;
    readonly config: { readonly stdin?: boolean; readonly stdinOnce?: boolean };
  };
  /** The directory of its stream files. */
  readonly runDir: string;
  /** Calls `listener` whenever the container's process has written; returns what ends that. */
  onOutput(listener: () => void): () => void;
  /** The bytes of a stream file that were written and removed again. */
  freedOutput(name: LogStream): number;
  /** Resolves when the container's process has ended. */
  ended(signal: AbortSignal): Promise<unknown>;
}

/**
 * Joins the streams of a container's own process: what it writes from now on, and its stdin where it has one. Resolves when the
 * container has ended; the client's leaving (`signal`) ends it too.
 *
 * @throws {AgentError} `failed_precondition` the container does not run
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
 * Reads one raw file from its present end on, as fast as the client does. The open file outlives its removal, so the last words are not
 * lost. A client that reads so slowly that the file was emptied behind it goes on with what there still is; containerd stops the
 * container instead, and its log.
 */
class Follower {
  readonly #container: AttachableContainer;
  readonly #name: LogStream;
  readonly #to: Writable;
  readonly #file: number;
  #offset: number;
  #held = false;
  readonly #goOn = (): void => {
    this.#held = false;
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

  /** Hands on what is there, until the client is full. */
  read(): void {
    while (!this.#held) {
      this.#offset = Math.max(this.#offset, this.#container.freedOutput(this.#name));
      const { size } = fstatSync(this.#file);
      if (size < this.#offset) this.#offset = 0; // cut by its container
      if (size - this.#offset > maxBacklogBytes) this.#offset = size;
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const bytes = readSync(this.#file, chunk, 0, chunkBytes, this.#offset);
      if (bytes === 0) return;
      this.#offset += bytes;
      this.#held = !this.#to.write(chunk.subarray(0, bytes));
    }
  }

  /** Hands on all that is left. @throws the signal's reason */
  async rest(signal: AbortSignal): Promise<void> {
    this.read();
    while (this.#held) {
      await once(this.#to, 'drain', { signal });
      this.read();
    }
  }

  close(): void {
    this.#to.off('drain', this.#goOn);
    closeSync(this.#file);
  }
}

/** Feeds the container's fifo. With `stdinOnce` the end of the client's input is the end of the container's. */
function attachStdin(container: AttachableContainer, io: TerminalIo): () => void {
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
