import { request as httpsRequest } from 'node:https';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Authority, hour, type KeyPair } from '../../../src/pki/certificates.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { metricsText } from '../../../src/metrics/metrics.ts';
import type { KubeObject } from '../../../src/controller/index.ts';
import {
  type AdmissionRequest,
  WebhookServer,
  type WebhookServerDeps,
  type WebhookServerOptions,
} from '../../../src/controller/webhook/index.ts';
import { keepingLogger, type Line } from '../controller/bench-controller.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The body, when it is JSON. */
  readonly json: { readonly apiVersion?: string; readonly response?: Record<string, unknown> };
}

export interface Sent {
  readonly port: number;
  readonly path: string;
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Posts to a server on this machine, whose certificate is not verified. */
export const post = ({
  port,
  path,
  body = '',
  type = 'application/json',
  headers,
  tls,
}: Sent): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const call = httpsRequest(
      {
        ...{ host: '127.0.0.1', port, path, method: 'POST', rejectUnauthorized: false, agent: false },
        headers: { 'Content-Type': type, ...headers },
        ...tls,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const json = (
            response.headers['content-type'] === 'application/json' ? JSON.parse(text) : {}
          ) as Answer['json'];
          resolve({ status: response.statusCode ?? 0, text, json });
        });
      },
    );
    call.on('error', reject);
    call.end(body);
  });

const ends: (() => void | Promise<void>)[] = [];
export async function endServers(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** A webhook server on a fake clock that listens on a free port, and ends with the test. */
export async function listening(
  register: (server: WebhookServer) => void,
  options: WebhookServerOptions = {},
  deps: WebhookServerDeps = {},
) {
  const lines: Line[] = [];
  const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
  const server = new WebhookServer(
    { port: 0, host: '127.0.0.1', ...options },
    { clock, logger: keepingLogger(lines), ...deps },
  );
  register(server);
  await server.listen();
  ends.push(() => server.close(AbortSignal.abort()));
  const port = server.address?.port ?? 0;
  return {
    ...{ server, port, lines, clock },
    send: (path: string, body: object | string | Buffer, more: Partial<Sent> = {}) =>
      post({
        ...{ port, path },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
        ...more,
      }),
    metrics: () => metricsText(server.collect()),
  };
}

export const pod = (more: object = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i', unknownField: 1 }] },
    ...more,
  }) as KubeObject;

export const requestOf = (more: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  uid: 'u-1',
  kind: { group: '', version: 'v1', kind: 'Pod' },
  resource: { group: '', version: 'v1', resource: 'pods' },
  namespace: 'default',
  name: 'p',
  operation: 'CREATE',
  userInfo: { username: 'ann' },
  object: pod(),
  ...more,
});

export const reviewOf = (more: Partial<AdmissionRequest> = {}, version = 'v1'): object => ({
  apiVersion: `admission.k8s.io/${version}`,
  kind: 'AdmissionReview',
  request: requestOf(more),
});

/** A folder with a certificate, which ends with the test. */
export function folder(files: Readonly<Record<string, string>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'pt-webhook-'));
  ends.push(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

/** A certificate that is valid around `now`. */
export const pairOf = (commonName: string, now: number, authority = Authority.create('ca', now)): KeyPair =>
  authority.issue({
    subject: { commonName },
    notBefore: now - hour,
    notAfter: now + 100 * hour,
    usages: ['server auth', 'client auth'],
    hosts: ['127.0.0.1', 'localhost'],
  });

/** The JSON patch of an answer. */
export const patchOf = ({ json }: Answer): unknown => {
  const text = json.response?.['patch'];
  return typeof text === 'string' ? JSON.parse(Buffer.from(text, 'base64').toString()) : undefined;
};
