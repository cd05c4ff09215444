import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Reply, ServerRequest } from './reply.ts';

/** A request as far as its head tells. */
export type RequestHead = Pick<ServerRequest, 'method' | 'target' | 'headers'>;

const requestLine = /^([A-Z]{1,32}) (\/[^\s]*) HTTP\/1\.1$/;
const headerLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\0]*)$/;

/**
 * Reads the head of a request whose method Node's parser does not know, so that it is refused as the kubelet refuses it: after asking who
 * it is and whether they may (K2). Nothing: it is no request, or one behind others in its packet.
 *
 * @param fault where in the packet the parser stopped
 */
export function readOddRequest(packet: Buffer, fault: number): RequestHead | undefined {
  const end = packet.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = packet.subarray(0, end).toString('latin1').split('\r\n');
  const [, method, target] = requestLine.exec(first) ?? [];
  if (method === undefined || target === undefined || fault > method.length) return undefined;
  const headers: IncomingHttpHeaders = {};
  for (const line of lines) {
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name === undefined) return undefined;
    headers[name.toLowerCase()] ??= value.trim();
  }
  return { method, target, headers };
}

/** Sends a short answer and ends the connection. */
export function answerAndClose(socket: Socket, { status, headers, body }: Reply): void {
  const text = typeof body === 'string' ? body : '';
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => `${name}: ${one}\r\n`),
  );
  socket.end(
    `HTTP/1.1 ${status} \r\n${lines.join('')}Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}
