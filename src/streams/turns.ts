import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The answer to a request that Node has let go of; the connection ends with it. */
export function lastAnswer(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  socket.on('drain', () => response.emit('drain'));
  response.once('finish', () => {
    response.detachSocket(socket);
    socket.end();
  });
  return response;
}

/** Requests of one connection that are served at a time; Go's server takes one, and no client that is known sends more ahead. */
export const mostAtOnce = 16;

/**
 * The answers that connections still owe. Node hands out an upgrade while the requests that were sent before it on the same connection are
 * still being answered; here it has its turn after them, as with Go's server, which reads no further before.
 */
export class Turns {
  readonly #owed = new WeakMap<Duplex, ServerResponse>();
  /** The last answers of each connection, open or made. */
  readonly #served = new WeakMap<Duplex, ServerResponse[]>();
  readonly #waiters = new WeakMap<Duplex, Set<() => void>>();

  /** Notes an answer that will be made; a connection's answers go out in the order they were noted. */
  note(response: ServerResponse): void {
    const { socket } = response.req;
    this.#owed.set(socket, response);
    response.once('close', () => {
      if (this.#owed.get(socket) === response) this.#owed.delete(socket);
    });
  }

  /**
   * Notes an answer and waits until all but a few of those before it on the connection are made: a client that sends many requests ahead has no more
   * of them served at a time than {@link mostAtOnce}.
   *
   * @returns whether there is a connection left to answer on
   */
  async next(response: ServerResponse): Promise<boolean> {
    const { socket } = response.req;
    this.note(response);
    const served = this.#served.get(socket) ?? [];
    this.#served.set(socket, served);
    served.push(response);
    const ahead = served.length > mostAtOnce ? served.shift() : undefined;
    if (ahead && !ahead.closed && !socket.destroyed) await this.#answered(ahead, socket);
    return !socket.destroyed;
  }

  /**
   * Waits until all that was noted for the connection is answered, or until it is gone.
   *
   * @returns whether there is a connection left to answer on
   */
  async before(socket: Duplex): Promise<boolean> {
    const last = this.#owed.get(socket);
    if (last && !socket.destroyed) await this.#answered(last, socket);
    return !socket.destroyed;
  }

  #answered(last: ServerResponse, socket: Duplex): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.#waitersOf(socket);
      const over = (): void => {
        last.off('close', over);
        waiters.delete(over);
        resolve();
      };
      last.once('close', over);
      waiters.add(over);
    });
  }

  /** What to call when a connection is gone: with one listener, however many wait. */
  #waitersOf(socket: Duplex): Set<() => void> {
    const found = this.#waiters.get(socket);
    if (found) return found;
    const waiters = new Set<() => void>();
    this.#waiters.set(socket, waiters);
    socket.once('close', () => {
      for (const over of [...waiters]) over();
    });
    return waiters;
  }
}
