import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A client's request to a proxy: the target as `HOST:PORT`, and the credentials as `NAME:PASSWORD`. */
export interface AskedTunnel {
  readonly target: string;
  readonly user: string | undefined;
}

interface TunnelProxySettings {
  /** The key pair; absent for a proxy without TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The credentials; absent when every request is accepted. */
  readonly user?: string;
  /** The addresses of names that only the proxy can resolve. */
  readonly addresses?: Readonly<Record<string, string>>;
}

/** A proxy for `CONNECT` or SOCKS 5 (RFC 1928, 1929) on 127.0.0.1. */
export class TunnelProxy {
  readonly requests: AskedTunnel[] = [];
  readonly #server: Server | HttpServer;
  readonly #sockets = new Set<Socket>();

  private constructor(server: (proxy: TunnelProxy) => Server | HttpServer) {
    this.#server = server(this);
    this.#server.on('connection', (socket: Socket) => {
      this.#keep(socket);
    });
  }

  static http({ tls, user: expected }: TunnelProxySettings = {}): Promise<TunnelProxy> {
    return TunnelProxy.#listen((proxy) => {
      const server = tls ? createHttpsServer(tls) : createHttpServer();
      return server.on('connect', ({ url = '', headers }, socket, head) => {
        const basic = headers['proxy-authorization']?.replace(/^Basic /, '');
        const user = basic === undefined ? undefined : Buffer.from(basic, 'base64').toString();
        proxy.requests.push({ target: url, user });
        if (user !== expected) {
          socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
          return;
        }
        const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(url) ?? [];
        proxy.#join(socket as Socket, { host, port: Number(port) }, () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          if (head.length > 0) socket.unshift(head);
        });
      });
    });
  }

  static socks(settings: TunnelProxySettings = {}): Promise<TunnelProxy> {
    return TunnelProxy.#listen((proxy) =>
      createServer((socket) => void proxy.#socks(socket, settings).catch(() => socket.destroy())),
    );
  }

  static async #listen(server: (proxy: TunnelProxy) => Server | HttpServer): Promise<TunnelProxy> {
    const proxy = new TunnelProxy(server);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #socks(
    socket: Socket,
    { user: expected, addresses = {} }: Omit<TunnelProxySettings, 'tls'>,
  ): Promise<void> {
    const take = reader(socket);
    const [, methods = 0] = await take(2);
    await take(methods);
    socket.write(Buffer.from([5, expected === undefined ? 0 : 2]));
    let user: string | undefined;
    if (expected !== undefined) {
      const [, nameBytes = 0] = await take(2);
      const name = await take(nameBytes);
      const [passwordBytes = 0] = await take(1);
      user = `${name.toString()}:${(await take(passwordBytes)).toString()}`;
      socket.write(Buffer.from([1, user === expected ? 0 : 1]));
    }
    const [, , , kind] = await take(4);
    const host =
      kind === 1 ? [...(await take(4))].join('.') : (await take((await take(1))[0] ?? 0)).toString();
    const port = (await take(2)).readUInt16BE();
    this.requests.push({ target: `${host}:${port}`, user });
    this.#join(socket, { host: addresses[host] ?? host, port }, () =>
      socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])),
    );
  }

  #join(socket: Socket, to: { readonly host: string; readonly port: number }, opened: () => void): void {
    const upstream = connect(to, () => {
      opened();
      socket.pipe(upstream).pipe(socket);
    });
    this.#keep(upstream);
    upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

/** Reads a number of bytes. */
const reader =
  (socket: Socket) =>
  async (bytes: number): Promise<Buffer> => {
    for (;;) {
      const read = bytes === 0 ? Buffer.alloc(0) : (socket.read(bytes) as Buffer | null);
      if (read) return read;
      if (socket.destroyed) throw new Error('the client is gone');
      await new Promise((resolve) => socket.once('readable', resolve).once('close', resolve));
    }
  };
