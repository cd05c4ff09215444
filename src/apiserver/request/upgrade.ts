import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createWebSocketStream, type WebSocket } from 'ws';
import { dialError } from '../../go/dial-error.ts';
import { keepAlive } from '../../base/keep-alive.ts';
import { joinDuplexes } from '../../streams/join.ts';
import { acceptWebSocket } from '../../streams/websocket.ts';
import { isBearer } from '../authentication/authenticator.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import type { Upgrading } from './upgrading.ts';

/** The destination of a forwarded upgrade. */
export interface Passed {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** TLS options of the connection to the backend. */
  readonly tls?: object;
  /** Path and query. */
  readonly path: string;
  readonly method: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
}

/** Returns the raw connection; the caller answers on it. */
function takeOver({ response, socket }: Upgrading): Socket {
  response.detachSocket(socket);
  return socket;
}

/** Reports whether a client requests a WebSocket. */
export const wantsWebSocket = ({ incoming }: Upgrading): boolean =>
  incoming.headers.upgrade?.toLowerCase() === 'websocket';

/** Accepts the connection as a WebSocket with a protocol. @throws {AgentError} `invalid_argument` for an invalid handshake */
export function takeWebSocket(upgrading: Upgrading, protocol: string | undefined): Promise<WebSocket> {
  const { incoming, head } = upgrading;
  const request = { method: 'GET', target: incoming.url ?? '/', headers: incoming.headers };
  return acceptWebSocket(request, takeOver(upgrading), head, protocol);
}

/**
 * Forwards an upgrade and joins the two connections with backpressure until one ends. A refusal is forwarded completely.
 *
 * @param tunnel WebSocket protocol to answer the client with, instead of the backend's response
 * @throws {StatusError} 500 when the backend is unreachable or its response is invalid
 */
export function passUpgrade(to: Passed, upgrading: Upgrading, tunnel?: string): Promise<void> {
  const { socket } = upgrading;
  const { scheme, host, port, path, method, headers, tls } = to;
  const send = scheme === 'https' ? httpsRequest : httpRequest;
  const outgoing = send({
    ...{ host, port, path, method, agent: false },
    headers: [...headers],
    ...(scheme === 'https' && { rejectUnauthorized: false, ...tls }),
  });
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const giveUp = (): void => {
      outgoing.destroy();
      resolve();
    };
    socket.on('error', giveUp);
    socket.once('close', giveUp);
    outgoing.once('socket', keepAlive);
    outgoing.on('error', (reason) => {
      reject(new StatusError(500, '', `error dialing backend: ${dialError(reason, to)}`));
    });
    outgoing.once('close', () => {
      if (!isAnswered) reject(new StatusError(500, '', 'error dialing backend: EOF'));
    });
    outgoing.on('response', (answer) => {
      isAnswered = true;
      refused(answer, upgrading.response).then(resolve, reject);
    });
    outgoing.on('upgrade', (answer, upstream, rest) => {
      isAnswered = true;
      joined({ ...upgrading, tunnel }, answer, upstream, rest).then(resolve, giveUp);
    });
    outgoing.end();
  });
}

/** @throws {StatusError} 500 for a response that is not a refusal */
async function refused(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  const { statusCode = 500, statusMessage = '', rawHeaders } = answer;
  if (statusCode < 400) {
    answer.destroy();
    throw new StatusError(500, '', `invalid upgrade response: status code ${statusCode}`);
  }
  response.writeHead(statusCode, statusMessage, without(rawHeaders, hopByHop));
  await pipeline(answer, response);
}

const hopByHop = /^(connection|keep-alive|transfer-encoding)$/i;

async function joined(
  upgrading: Upgrading & { readonly tunnel: string | undefined },
  answer: IncomingMessage,
  upstream: Duplex,
  rest: Buffer,
): Promise<void> {
  const { socket, head, tunnel } = upgrading;
  let near: Duplex = socket;
  try {
    if (tunnel === undefined) {
      takeOver(upgrading).write(`HTTP/1.1 101 Switching Protocols\r\n${lines(answer.rawHeaders)}\r\n`);
      if (head.length > 0) upstream.write(head);
    } else {
      near = createWebSocketStream(await takeWebSocket(upgrading, tunnel));
    }
    if (rest.length > 0) near.write(rest);
    await joinDuplexes(near, upstream);
  } finally {
    upstream.destroy();
    socket.destroy();
  }
}

/** Headers that are not forwarded: credentials, and those that this server sets. */
const own = /^(authorization|impersonate-.*|x-forwarded-for)$/i;

/** Returns a client's headers to forward, with its address. */
export function sentOn(incoming: IncomingMessage, besides?: RegExp): string[] {
  const out: string[] = [];
  const foreign = without(incoming.rawHeaders, own);
  const forwarded = besides ? without(foreign, besides) : foreign;
  for (let i = 0; i + 1 < forwarded.length; i += 2) {
    const [name = '', value = ''] = forwarded.slice(i, i + 2);
    out.push(name, name.toLowerCase() === 'sec-websocket-protocol' ? withoutBearer(value) : value);
  }
  return [...out, 'X-Forwarded-For', forwardedFor(incoming)];
}

/** Returns `X-Forwarded-For` with the client's address appended. */
export function forwardedFor({ headers, socket }: IncomingMessage): string {
  const before = headers['x-forwarded-for'];
  const from = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return [...(before === undefined ? [] : [before].flat()), from].join(', ');
}

/** Returns subprotocols without the token. */
const withoutBearer = (protocols: string): string =>
  protocols
    .split(',')
    .map((one) => one.trim())
    .filter((one) => !isBearer(one))
    .join(', ');

/** Returns alternating names and values without some names. */
const without = (rawHeaders: readonly string[], names: RegExp): string[] =>
  rawHeaders.filter((_text, i) => !names.test(rawHeaders[i - (i % 2)] ?? ''));

function lines(rawHeaders: readonly string[]): string {
  let text = '';
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    text += `${rawHeaders[i] ?? ''}: ${rawHeaders[i + 1] ?? ''}\r\n`;
  return text;
}
