import { type IncomingHttpHeaders, IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { lastAnswer } from './turns.ts';

/** Node's parser error for bytes that it rejects. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  /** Offset in the packet at which parsing failed. */
  readonly bytesParsed?: number;
}

/** The parsed head of a request. */
interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

const requestLine = /^([A-Z]{1,32}) (\/[^\s]*) HTTP\/1\.1$/;
const headerLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\0]*)$/;

/** Returns undefined when it is not a request, or one that follows others in its packet. */
function readHead(packet: Buffer, fault: number): RequestHead | undefined {
  const end = packet.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = packet.subarray(0, end).toString('latin1').split('\r\n');
  const [, method, url] = requestLine.exec(first) ?? [];
  if (method === undefined || url === undefined || fault > method.length) return undefined;
  const headers: IncomingHttpHeaders = {};
  for (const line of lines) {
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name === undefined) return undefined;
    headers[name.toLowerCase()] ??= value.trim();
  }
  return { method, url, headers };
}

/** A request without a body and its response; the connection closes after the response. */
export interface OddExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Parses a request whose method Node's parser does not know, so that it is authenticated, authorized and answered like any other (K2), as
 * Go's servers do. Returns undefined when the bytes are not such a request.
 */
export function oddExchange(
  { code, rawPacket, bytesParsed = 0 }: ParserError,
  socket: Socket,
): OddExchange | undefined {
  const head = code === 'HPE_INVALID_METHOD' && rawPacket ? readHead(rawPacket, bytesParsed) : undefined;
  if (!head) return undefined;
  const request = Object.assign(new IncomingMessage(socket), head, { httpVersion: '1.1', complete: true });
  request.push(null);
  return { request, response: lastAnswer(request, socket) };
}

/** Rejects bytes that are not a readable request, and closes the connection. */
export function refuseUnread({ code }: ParserError, socket: Socket): void {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    socket.destroy(); // Go's server says nothing to a client that is late
    return;
  }
  const status = code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n${status}`);
}
