import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { KeyPair } from '../../src/pki/certificates.ts';
import { systemClock } from '../../src/base/clock.ts';
import { SpdyConnection } from '../../src/streams/spdy/connection.ts';
import type { SpdyStream } from '../../src/streams/spdy/stream.ts';

/** A request to a kubelet API on loopback. */
export interface SpdyRequest {
  readonly port: number;
  readonly path: string;
  /** The client's certificate. */
  readonly client: KeyPair;
  /** The protocol. Default: that of exec and attach. */
  readonly protocol?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Upgrades a new connection to a kubelet API to SPDY, as `kubectl` does. */
export async function spdyClient({
  port,
  path,
  client,
  protocol = 'v4.channel.k8s.io',
  headers = {},
}: SpdyRequest): Promise<SpdyConnection> {
  const request = httpsRequest({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    rejectUnauthorized: false,
    agent: false,
    ...client,
    headers: {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': protocol,
    },
  });
  request.end();
  const [, socket, head] = (await once(request, 'upgrade')) as [unknown, Socket, Buffer];
  const connection = new SpdyConnection(socket, { clock: systemClock, idleMs: 60_000 });
  void connection.run(head);
  return connection;
}

/** Opens the stream of a type, e.g. `stdin`, with additional headers. */
export const openStream = (
  connection: SpdyConnection,
  streamtype: string,
  more: Readonly<Record<string, string>> = {},
): Promise<SpdyStream> => connection.open(new Map(Object.entries({ streamtype, ...more })));
