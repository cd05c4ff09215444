import type { Duplex } from 'node:stream';
import { httpError, type Reply, type ServerRequest } from './reply.ts';

const words = (header: string | undefined): readonly string[] =>
  (header ?? '').split(',').map((word) => word.trim());

const offers = ({ headers }: ServerRequest, protocol: string): boolean =>
  words(headers.connection).some((word) => word.toLowerCase() === 'upgrade') &&
  words(headers.upgrade).some((word) => word.toLowerCase() === protocol);

export const isWebSocket = (request: ServerRequest): boolean => offers(request, 'websocket');
export const isSpdy = (request: ServerRequest): boolean => offers(request, 'spdy/3.1');

/** The kubelet's reply to a stream request without an upgrade (K4). */
export const upgradeRequired: Reply = httpError(500, 'Upgrade request required');

export const replyUpgrade = (upgrade: NonNullable<Reply['upgrade']>): Reply => ({
  status: 101,
  headers: {},
  body: '',
  upgrade,
});

/** Returns the first protocol that the client offers and the server supports, or the refusal. */
export function negotiate(
  request: ServerRequest,
  supported: readonly string[],
  doubled: boolean,
): { readonly protocol: string } | { readonly refusal: Reply } {
  const offered = request.headers['x-stream-protocol-version'];
  const list = (Array.isArray(offered) ? offered : words(offered)).filter((word) => word !== '');
  if (list.length === 0) {
    const count = Object.keys(request.headers).filter((name) => name !== 'host').length;
    const text = `unable to upgrade: header X-Stream-Protocol-Version does not exist in request with ${count} headers`;
    return { refusal: httpError(400, doubled ? `${text}\n${text}` : text) };
  }
  const protocol = list.find((one) => supported.includes(one));
  if (protocol !== undefined) return { protocol };
  const text = `unable to upgrade: unable to negotiate protocol: client supports [${list.join(' ')}], server accepts [${supported.join(' ')}]`;
  return { refusal: httpError(403, doubled ? `${text}\n${text}` : text) };
}

/** Accepts an upgrade to SPDY. */
export function acceptSpdy(socket: Duplex, protocol: string): void {
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
}

/** Refusal of a WebSocket whose subprotocols are all unknown: no body, and the connection closes (K4). */
const refused = 'HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

export const forbidden: Reply = {
  status: 403,
  headers: { Connection: 'close' },
  body: '',
  upgrade: (socket) => {
    socket.end(refused);
  },
};
