import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { EmbeddedApiServer } from '../../../src/apiserver/index.ts';

/** What a webhook was sent. */
export interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: Readonly<Record<string, never>> & {
    readonly uid: string;
    readonly objects?: readonly object[];
  };
}

/** A webhook in this process: it keeps what it was sent. */
export interface TestWebhook {
  readonly url: string;
  readonly port: number;
  readonly seen: { readonly path: string; readonly review: Review }[];
  /** Changes what it answers from now on. */
  answer: (review: Review) => unknown;
  stop(): Promise<void>;
}

/** Answers a review as allowed. */
export const allow = (review: Review, more: object = {}): object => ({
  apiVersion: review.apiVersion,
  kind: review.kind,
  response: { uid: review.request.uid, allowed: true, ...more },
});

/** Answers a review with a JSON patch. */
export const patching = (review: Review, ...steps: readonly object[]): object =>
  allow(review, { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(steps)).toString('base64') });

/** The bundle of the server's own authority, which signs the certificates of the webhooks here. */
export const bundleOf = (server: EmbeddedApiServer): string => Buffer.from(server.ca).toString('base64');

/** An answer that is sent as it is. */
export interface RawAnswer {
  readonly status: number;
  readonly type?: string;
  readonly text: string;
}

const isRaw = (value: unknown): value is RawAnswer =>
  typeof value === 'object' && value !== null && 'text' in value;

/** Starts a webhook over HTTPS; an answer of `undefined` is never sent. */
export async function startWebhook(
  server: EmbeddedApiServer,
  answer: TestWebhook['answer'],
  hosts: readonly string[] = ['127.0.0.1', 'localhost'],
): Promise<TestWebhook> {
  const listener: Server = createServer({ ...server.servingCertificate('webhook', hosts) });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  const webhook: TestWebhook = {
    port,
    url: `https://127.0.0.1:${port}/review`,
    seen: [],
    answer,
    stop: async () => {
      const closed = new Promise((resolve) => listener.close(resolve));
      listener.closeAllConnections();
      await closed;
    },
  };
  listener.on('request', (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
      webhook.seen.push({ path: request.url ?? '', review });
      const value = webhook.answer(review);
      if (value === undefined) return;
      if (isRaw(value)) {
        response.writeHead(value.status, value.type === undefined ? {} : { 'Content-Type': value.type });
        response.end(value.text);
        return;
      }
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(value));
    });
  });
  return webhook;
}
