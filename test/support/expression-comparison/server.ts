import { Agent, request } from 'node:https';
import { type ApiConnection, fixedCredentials } from '../../../src/api/rest/connection.ts';
import type { JsonObject } from '../../../src/apimachinery/json.ts';

/** What a server answered. */
export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
  /** Texts of the warnings, without code and agent. */
  readonly warnings: readonly string[];
}

/** A server that is compared with another one. */
export interface Server {
  call(method: string, path: string, body?: JsonObject): Promise<Answer>;
  close(): void;
}

const timeoutMs = 60_000;

/** Connects to a server with the credentials of its kubeconfig as they are now. */
export async function serverOf(connection: ApiConnection): Promise<Server> {
  const { server, ca, skipTlsVerify } = connection;
  const {
    cert,
    key,
    headers: credentials,
  } = await (connection.credentials ?? fixedCredentials(connection)).current();
  const agent = new Agent({ keepAlive: true, ca, cert, key, rejectUnauthorized: skipTlsVerify !== true });
  return {
    call: (method, path, body) =>
      new Promise((resolve, reject) => {
        const text = body && JSON.stringify(body);
        const headers = {
          ...credentials,
          'Content-Type': 'application/json',
        };
        const outgoing = request(
          `${server}${path}`,
          { agent, method, headers, timeout: timeoutMs },
          (answer) => {
            const chunks: Buffer[] = [];
            answer.on('error', reject);
            answer.on('data', (chunk: Buffer) => chunks.push(chunk));
            answer.on('end', () => {
              resolve({
                status: answer.statusCode ?? 0,
                body: bodyOf(Buffer.concat(chunks).toString()),
                warnings: warningsOf(answer.headers.warning),
              });
            });
          },
        );
        outgoing.on('error', reject);
        outgoing.on('timeout', () => outgoing.destroy(new Error(`${server}: no answer within a minute`)));
        outgoing.end(text);
      }),
    close: () => {
      agent.destroy();
    },
  };
}

/** Returns a body; what is no JSON, as the answer to an unknown path, becomes a message. */
function bodyOf(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return { message: text };
  }
}

const warningsOf = (header: string | undefined): readonly string[] =>
  Array.from((header ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g), ([, text = '']) => text);
