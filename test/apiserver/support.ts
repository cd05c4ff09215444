import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import type { EmbeddedApiServer } from '../../src/apiserver/index.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON that came; an empty object for no body, and for text. */
  readonly body: Record<string, never> & {
    readonly metadata: { readonly resourceVersion: string; readonly name: string };
  };
}

function bodyOf(text: string): Answer['body'] {
  try {
    return JSON.parse(text) as Answer['body'];
  } catch {
    return {} as Answer['body'];
  }
}

/** One request of the administrator. */
export function call(
  server: EmbeddedApiServer,
  method: string,
  path: string,
  body?: unknown,
  type = 'application/json',
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(text ?? ''));
    const headers = {
      ...more,
      ...(text !== undefined && { 'Content-Type': type, 'Content-Length': length }),
    };
    const { port, ca, admin } = server;
    const outgoing = request(
      { host: '127.0.0.1', port, path, method, ca, cert: admin.cert, key: admin.key, agent: false, headers },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('error', reject);
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const received = Buffer.concat(chunks).toString();
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: received,
            body: bodyOf(received),
          });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

export const podsPath = '/api/v1/namespaces/default/pods';
export const pod = (name: string, more: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'x' }], ...more },
});
