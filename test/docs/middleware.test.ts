import { afterAll, beforeAll, expect, test } from 'vitest';
import { runPod, startNode } from '../../examples/embed.ts';
import { chain } from '../../examples/middleware.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';

const image = 'registry.example.com/shop/web:1';
const lines: string[] = [];
const stop = new AbortController();
let server: EmbeddedApiServer;
let node: Awaited<ReturnType<typeof startNode>>;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  node = await startNode(
    server,
    stop.signal,
    chain((line) => void lines.push(line)),
  );
}, 30_000);
afterAll(async () => {
  stop.abort();
  await node.stop();
  await server.stop();
});

test('the provider gets the changed copy, and the status is the chain’s', async () => {
  const status = await runPod(server, 'allowed', { labels: { app: 'web', owner: 'shop' }, image });
  expect(status).toMatchObject({ phase: 'Running', message: 'runs in rack 7' });
  expect(lines[0]).toMatch(/^sync of allowed with ZONE=eu-1 OWNER=shop took [\d.]+ ms$/);
});

test('a pod without an owner is refused by the first middleware, one with another image by the second', async () => {
  expect(await runPod(server, 'nobodys', { image })).toMatchObject({
    ...{ phase: 'Failed', reason: 'NoOwner' },
    message: 'Pod was rejected: the pod has no label owner: add one, such as owner=shop',
  });
  const other = { labels: { owner: 'shop' }, image: 'elsewhere.example.com/web:1' };
  expect(await runPod(server, 'foreign', other)).toMatchObject({
    phase: 'Failed',
    reason: 'ImageNotAllowed',
  });
  expect(lines.filter((line) => !line.startsWith('sync of allowed '))).toEqual([]);
});
