import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';

const amount = 60;
let server: EmbeddedApiServer;

beforeEach(async () => {
  server = await EmbeddedApiServer.start();
  for (let i = 0; i < amount; i++)
    server.store.put('configmaps', {
      metadata: { namespace: 'large', name: `m${String(i).padStart(2, '0')}`, uid: `u${i}` },
      data: { text: `ä${'x'.repeat(50_000)}` },
    });
});

afterEach(() => server.stop());

function open(path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const outgoing = request(`${server.url}${path}`, { ca: server.ca, ...server.admin, headers, agent: false });
  outgoing.end();
  return once(outgoing, 'response').then(([answer]) => answer as IncomingMessage);
}

async function read(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const list = '/api/v1/namespaces/large/configmaps';

interface List {
  readonly kind: string;
  readonly metadata: { readonly continue?: string };
  readonly items: readonly { readonly metadata: { readonly name: string }; readonly data: object }[];
}

test('a large list is sent while it is made, and is complete', async () => {
  const answer = await open(list);
  expect(answer.headers['content-length']).toBeUndefined();
  const found = JSON.parse((await read(answer)).toString()) as List;
  expect(found.kind).toBe('ConfigMapList');
  expect(found.items.map(({ metadata }) => metadata.name)).toEqual(
    Array.from({ length: amount }, (_, i) => `m${String(i).padStart(2, '0')}`),
  );
  expect(found.items[59]?.data).toEqual({ text: `ä${'x'.repeat(50_000)}` });
});

test('it is compressed for those that accept it', async () => {
  const answer = await open(list, { 'accept-encoding': 'gzip' });
  expect(answer.headers['content-encoding']).toBe('gzip');
  const found = JSON.parse(gunzipSync(await read(answer)).toString()) as List;
  expect(found.items).toHaveLength(amount);
});

test('a small page has a length', async () => {
  const answer = await open(`${list}?limit=2`);
  const text = await read(answer);
  expect(answer.headers['content-length']).toBe(String(text.length));
  const found = JSON.parse(text.toString()) as List;
  expect(found.items).toHaveLength(2);
  expect(found.metadata.continue).toBeTruthy();
});

test('a client that goes away in the middle leaves the server as it was', async () => {
  const answer = await open(list);
  await once(answer, 'readable');
  answer.destroy();
  expect((await read(await open('/readyz'))).toString()).toBe('ok');
});
