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

/**
 * The answers that connections still owe. Node hands out an upgrade while the requests that were sent before it on the same connection are
 * still being answered; here it has its turn after them, as with Go's server, which reads no further before.
 */
export class Turns {
  readonly #owed = new WeakMap<Duplex, ServerResponse>();

  /** Notes an answer that will be made; a connection's answers go out in the order they were noted. */
  note(response: ServerResponse): void {
    const { socket } = response.req;
    this.#owed.set(socket, response);
    response.once('close', () => {
      if (this.#owed.get(socket) === response) this.#owed.delete(socket);
    });
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
      const over = (): void => {
        last.off('close', over);
        socket.off('close', over);
        resolve();
      };
      last.once('close', over);
      socket.once('close', over);
    });
  }
}
