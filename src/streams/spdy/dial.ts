import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { IncomingHttpHeaders } from 'node:http';
import { dialError } from '../../go/dial-error.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { keepAlive } from '../../base/keep-alive.ts';
import { hostPortOf } from '../../base/host-port.ts';

/** A connection that a streaming server has upgraded. */
export interface Upgraded {
  readonly socket: Socket;
  /** Bytes received after the response's headers. */
  readonly head: Buffer;
  readonly protocol: string;
}

const longestAnswer = 64 * 1024;

/** Address of a streaming server and the client identity for it. */
export interface StreamServer {
  readonly url: URL;
  /** Client certificate, for a server that requires one. */
  readonly client?: { readonly cert: string; readonly key: string };
}

/** Opens a connection to a streaming server. @throws {AgentError} `unavailable` in Go's words */
export function dial({ url, client }: StreamServer, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    const { host, port } = hostPortOf(url);
    const socket: Socket = secure
      ? connectTls({ host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'], ...client })
      : connectTcp({ host, port, allowHalfOpen: true });
    const abort = (): void => {
      socket.destroy();
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    socket.once('close', () => {
      signal.removeEventListener('abort', abort);
      reject(new AgentError('unavailable', `the streaming server at ${url.host} closed the connection`));
    });
    socket.once('error', (cause) => {
      reject(new AgentError('unavailable', dialError(cause, { host, port }), { cause }));
    });
    keepAlive(socket);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

/** Headers that a proxy does not forward. */
const ownHeaders = new Set(['host', 'authorization', 'cookie', 'content-length', 'transfer-encoding']);

/** Returns the head of a request to a streaming server. Each offered protocol has its own header, as Go's clients send them. */
export function requestHead(method: string, url: URL, headers: IncomingHttpHeaders): string {
  const lines = [`${method} ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || ownHeaders.has(name)) continue;
    const values = Array.isArray(value)
      ? value
      : name === 'x-stream-protocol-version'
        ? value.split(',')
        : [value];
    for (const one of values) lines.push(`${name}: ${one.trim()}`);
  }
  return `${lines.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`;
}

/** Upgrades to SPDY. @throws {AgentError} with the server's text when it refuses */
export async function dialSpdy(
  server: StreamServer,
  protocols: readonly string[],
  signal: AbortSignal,
): Promise<Upgraded> {
  const { url } = server;
  const socket = await dial(server, signal).catch((cause: unknown) => {
    const text = `error sending request: Post ${JSON.stringify(url.href)}: ${messageOf(cause)}`;
    throw new AgentError('unavailable', text, { cause });
  });
  const headers = {
    connection: 'Upgrade',
    upgrade: 'SPDY/3.1',
    'x-stream-protocol-version': protocols.join(', '),
  };
  socket.write(requestHead('POST', url, headers));
  const { head, rest } = await readAnswer(socket);
  const [statusLine = '', ...lines] = head.split('\r\n');
  if (!/^HTTP\/1\.\d 101 /.test(statusLine)) {
    const why = (await readRest(socket, rest, lengthOf(lines))).toString().trim();
    socket.destroy();
    throw new AgentError('unavailable', `unable to upgrade connection: ${why === '' ? statusLine : why}`);
  }
  const chosen = lines.find((line) => /^x-stream-protocol-version:/i.test(line));
  return { socket, head: rest, protocol: chosen?.slice(chosen.indexOf(':') + 1).trim() ?? '' };
}

function readAnswer(socket: Socket): Promise<{ readonly head: string; readonly rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const take = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk; chunk = socket.read() as Buffer | null)
        bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0 && bytes.length <= longestAnswer) return;
      stop();
      if (end < 0) reject(new AgentError('internal', 'the streaming server answered no HTTP'));
      else resolve({ head: bytes.subarray(0, end).toString('latin1'), rest: bytes.subarray(end + 4) });
    };
    const fail = (): void => {
      stop();
      reject(new AgentError('unavailable', 'the streaming server closed the connection'));
    };
    const stop = (): void => {
      socket.off('readable', take);
      socket.off('end', fail);
      socket.off('close', fail);
    };
    socket.on('readable', take);
    socket.once('end', fail);
    socket.once('close', fail);
  });
}

/** Returns the length of a refusal's text; `undefined`: until the connection closes. */
function lengthOf(lines: readonly string[]): number | undefined {
  const line = lines.find((one) => /^content-length:/i.test(one));
  return line === undefined ? undefined : Number(line.slice(line.indexOf(':') + 1));
}

/** Reads the text of a refusal, as far as it is received. */
function readRest(socket: Socket, begun: Buffer, length = longestAnswer): Promise<Buffer> {
  let bytes = begun;
  return new Promise((resolve) => {
    const done = (): void => {
      resolve(bytes);
    };
    const take = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk; chunk = socket.read() as Buffer | null)
        bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length >= Math.min(length, longestAnswer)) done();
    };
    socket.on('readable', take);
    socket.once('end', done);
    socket.once('close', done);
    take();
  });
}
