import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { serve } from '../../examples/kubelet-api.ts';
import * as exported from '../../src/server/index.ts';

const seen: string[] = [];
let server: Server;
let base = '';
beforeAll(async () => {
  server = await serve('secret', (line) => seen.push(line));
  base = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen.length = 0;
});

const headers = { authorization: 'Bearer secret' };

test.for([
  ['/containerLogs/default/hello/main', 200, 'hello from the log\n'],
  ['/about', 200, 'a provider of my own\n'],
  ['/attach/default/hello/main', 501, '501 not implemented\n'],
  ['/elsewhere', 404, '404 request not found\n'],
] as const)('the example answers %s', async ([path, status, body]) => {
  const answer = await fetch(`http://${base}${path}`, { headers });
  expect([answer.status, await answer.text()]).toEqual([status, body]);
  expect(seen).toEqual([`GET ${path} ${status}`]);
});

test('it lists pods to those who show the token, and nothing to others', async () => {
  const answer = await fetch(`http://${base}/pods`, { headers });
  expect(await answer.json()).toMatchObject({ kind: 'PodList', items: [{ metadata: { name: 'hello' } }] });
  for (const other of ['/pods', '/containerLogs/default/hello/main', '/exec/default/hello/main?command=x'])
    expect((await fetch(`http://${base}${other}`)).status).toBe(401);
});

test('it runs commands over WebSocket', async () => {
  const socket = new WebSocket(
    `ws://${base}/exec/default/hello/main?command=say&command=hi&output=1`,
    ['v5.channel.k8s.io'],
    {
      headers,
    },
  );
  let said = '';
  socket.on('message', (data: Buffer) => {
    if (data[0] === 1) said += data.subarray(1).toString();
  });
  await once(socket, 'close');
  expect(said).toBe('say hi\n');
});

test.for(
  'attachPodRoutes attachPodMetricsRoutes podHandler podMetricsHandler attachHandler handleContainerExec handleContainerAttach handleContainerLogs handlePortForward handleRunningPods handlePodStatsSummary handlePodMetricsResource instrumentHandler traceRequests webhookAccess webhookAuthorizer tokenAuthenticator certificateAuthenticator'.split(
    ' ',
  ),
)('%s is there', (name) => {
  expect(exported).toHaveProperty(name, expect.any(name === 'certificateAuthenticator' ? Object : Function));
});
