import { connect, createServer, type Server, type Socket } from 'node:net';

/** Line is a TCP connection to a server that can be cut and mended. */
export class Line {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #target: number | undefined;
  readonly #refused = Promise.withResolvers<undefined>();
  /** The port to connect to, once the line is open. */
  port = 0;

  constructor() {
    this.#server = createServer((socket) => {
      if (this.#target === undefined) {
        socket.destroy();
        this.#refused.resolve(undefined);
        return;
      }
      const other = connect(this.#target, '127.0.0.1');
      for (const one of [socket, other]) {
        this.#sockets.add(one);
        one.on('error', () => undefined);
        one.on('close', () => {
          this.#sockets.delete(one);
          socket.destroy();
          other.destroy();
        });
      }
      socket.pipe(other);
      other.pipe(socket);
    });
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    this.port = typeof address === 'object' && address ? address.port : 0;
  }

  /** Resolves once a connection was refused. */
  get refused(): Promise<undefined> {
    return this.#refused.promise;
  }

  /** Forwards connections from now on. @param target the port of the server */
  mend(target: number): void {
    this.#target = target;
  }

  /** Ends all connections, and refuses further ones. */
  cut(): void {
    this.#target = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
