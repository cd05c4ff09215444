import { WebSocket } from 'ws';
import { AgentError, messageOf } from '../base/errors.ts';

/** A server of WebSockets and the identity for it. */
export interface WebSocketTarget {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** The longest refusal that is read, in bytes. */
const longestRefusal = 64 * 1024;
const handshakeMs = 30_000;

/**
 * Opens a WebSocket and returns it once the server has chosen one of the protocols. Messages are buffered until there is a listener.
 *
 * @throws {AgentError} `unavailable` with the server's text when it refuses
 */
export function openWebSocket(
  { url, headers = {}, ...tls }: WebSocketTarget,
  protocols: readonly string[],
  signal: AbortSignal,
): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, [...protocols], {
      ...tls,
      headers: { ...headers },
      perMessageDeflate: false,
      handshakeTimeout: handshakeMs,
    });
    const abort = (): void => {
      socket.terminate();
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    socket.once('close', () => {
      signal.removeEventListener('abort', abort);
    });
    socket.on('error', (cause) => {
      reject(new AgentError('unavailable', messageOf(cause), { cause }));
    });
    socket.once('unexpected-response', (_request, response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        if (text.length < longestRefusal) text += chunk.toString();
      });
      response.once('close', () => {
        reject(
          new AgentError(
            'unavailable',
            `the server refused with ${response.statusCode ?? 0}: ${reasonOf(text)}`,
          ),
        );
        socket.terminate();
      });
    });
    socket.once('open', () => {
      socket.pause();
      resolve(socket);
    });
  });
}

/** The message of a Status, or the text itself. */
function reasonOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === 'string' ? message : text;
  } catch {
    return text.trim();
  }
}
