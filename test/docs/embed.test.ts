import { expect, test } from 'vitest';
import { runPod, startNode } from '../../examples/embed.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';

test('the embedding example brings a node up and a pod to ready', async () => {
  const server = await EmbeddedApiServer.start();
  const stop = new AbortController();
  const node = await startNode(server, stop.signal);
  try {
    const status = await runPod(server, 'hello');
    expect(status?.phase).toBe('Running');
    expect(status?.hostIP).toBe('127.0.0.1');
  } finally {
    stop.abort();
    await node.stop();
    await server.stop();
  }
});
