import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Returns a response to a request that Node no longer handles; the connection closes after it. */
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

/** Requests of one connection that are served at a time; Go's server takes one, and no known client sends more ahead. */
export const mostAtOnce = 16;

/**
 * Turns keeps the order of responses per connection. Node delivers an upgrade while earlier requests on the same connection are still
 * being answered; here it waits for them, as with Go's server, which does not read ahead.
 */
export class Turns {
  readonly #owed = new WeakMap<Duplex, ServerResponse>();
  /** The last responses of each connection, finished or not. */
  readonly #served = new WeakMap<Duplex, ServerResponse[]>();
  readonly #waiters = new WeakMap<Duplex, Set<() => void>>();

  /** Registers a response; responses of a connection are sent in the order of registration. */
  note(response: ServerResponse): void {
    const { socket } = response.req;
    this.#owed.set(socket, response);
    response.once('close', () => {
      if (this.#owed.get(socket) === response) this.#owed.delete(socket);
    });
  }

  /**
   * Registers a response and waits until all but a few of the earlier ones on the connection are finished: a client that pipelines
   * requests has at most {@link mostAtOnce} served at a time.
   *
   * @returns false when the connection is gone
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
   * Waits until every registered response of the connection is finished, or the connection is gone.
   *
   * @returns false when the connection is gone
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

  /** Callbacks for the end of a connection, behind one listener however many wait. */
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
