import { type ClientHttp2Session, connect } from 'node:http2';
import { createConnection } from 'node:net';

/** What is taken of the runtime before it has to wait for us, bytes: the list of a full node comes in one go. */
const windowBytes = 1024 * 1024;

/** Node.js refuses new calls when a connection holds more than this, MiB. */
const sessionMemoryMib = 256;

/**
 * One HTTP/2 connection to a unix socket, made when it is first needed and made anew after it was lost. Whoever asks while none can be had
 * is told why at once: a unix socket answers or refuses without delay, so there is nothing to wait for.
 */
export class Connection {
  readonly #socket: string;
  #session: ClientHttp2Session | undefined;
  #dialling: Promise<ClientHttp2Session> | undefined;
  /** Calls under way: only they keep the process alive. */
  #busy = 0;

  constructor(socket: string) {
    this.#socket = socket;
  }

  /** The session for a call. @throws what the socket says when it cannot be dialled */
  session(): ClientHttp2Session | Promise<ClientHttp2Session> {
    const session = this.#session;
    if (session && !session.closed && !session.destroyed) return session;
    return (this.#dialling ??= this.#dial().finally(() => {
      this.#dialling = undefined;
    }));
  }

  /** A call has begun on the session; call the result when it is over. */
  hold(session: ClientHttp2Session): () => void {
    if (session !== this.#session) return () => undefined;
    if (this.#busy++ === 0) session.ref();
    let isOver = false;
    return () => {
      if (isOver || session !== this.#session) return;
      isOver = true;
      if (--this.#busy === 0) session.unref();
    };
  }

  /** Ends the connection, and the calls on it. */
  async close(): Promise<void> {
    await this.#dialling?.catch(() => undefined);
    this.#session?.destroy();
    this.#session = undefined;
  }

  #dial(): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const session = connect('http://localhost', {
        createConnection: () => createConnection(this.#socket),
        settings: { enablePush: false, initialWindowSize: windowBytes },
        maxSessionMemory: sessionMemoryMib,
      });
      const lost = (): void => {
        if (this.#session === session) this.#session = undefined;
      };
      session.once('connect', () => {
        session.setLocalWindowSize(4 * windowBytes);
        session.unref();
        this.#session = session;
        this.#busy = 0;
        resolve(session);
      });
      session.on('error', (reason: Error) => {
        lost();
        reject(reason);
      });
      // what is under way may still be answered, but nothing new
      session.on('goaway', lost);
      session.once('close', lost);
    });
  }
}
