import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { request } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call, pod, podsPath } from './support.ts';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** An API server, and a kubelet of node n1 that answers as told. */
async function both(handle: (kubelet: Server) => void): Promise<EmbeddedApiServer> {
  const server = await EmbeddedApiServer.start();
  const { cert, key } = server.servingCertificate('system:node:n1', ['127.0.0.1']);
  const kubelet = createServer({ cert, key, ca: server.ca, requestCert: true });
  handle(kubelet);
  await new Promise<void>((resolve) => kubelet.listen(0, '127.0.0.1', resolve));
  ends.push(
    () => server.stop(),
    () => {
      kubelet.close();
      kubelet.closeAllConnections();
    },
  );
  const Port = (kubelet.address() as AddressInfo).port;
  await call(server, 'POST', '/api/v1/nodes', {
    metadata: { name: 'n1' },
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port } },
    },
  });
  await call(server, 'POST', podsPath, pod('p', { nodeName: 'n1' }));
  return server;
}

test('logs come through as the kubelet sends them, piece by piece', async () => {
  let release = (): void => undefined;
  const server = await both((kubelet) => {
    kubelet.on('request', (incoming, response) => {
      expect(incoming.url).toBe('/containerLogs/default/p/c?follow=true');
      response.write('first\n');
      release = () => response.end('last\n');
    });
  });
  const { port, ca, admin } = server;
  const pieces: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const path = `${podsPath}/p/log?follow=true`;
    request(
      { host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key, path, agent: false },
      (answer) => {
        answer.on('data', (chunk: Buffer) => {
          pieces.push(chunk.toString());
          release();
        });
        answer.on('end', resolve);
      },
    )
      .on('error', reject)
      .end();
  });
  expect(pieces).toEqual(['first\n', 'last\n']);
});

test('an upgrade goes to the kubelet as it came, and bytes flow both ways', async () => {
  const server = await both((kubelet) => {
    kubelet.on('upgrade', (incoming, socket) => {
      expect(incoming.url).toBe('/exec/default/p/c?input=1&output=1&command=sh');
      expect(incoming.headers.authorization).toBeUndefined();
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n');
      socket.on('data', (chunk: Buffer) => socket.end(`echo ${chunk.toString()}`));
    });
  });
  const { port, ca, admin } = server;
  const text = await new Promise<string>((resolve, reject) => {
    let came = '';
    const socket = connect({ host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key }, () => {
      socket.write(
        `POST ${podsPath}/p/exec?command=sh&stdin=true&stdout=true HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
      );
    });
    socket.on('data', (chunk: Buffer) => {
      came += chunk.toString();
      if (came.endsWith('\r\n\r\n')) socket.write('hello');
    });
    socket.on('close', () => {
      resolve(came);
    });
    socket.on('error', reject);
  });
  expect(text).toContain('101 Switching Protocols');
  expect(text).toContain('echo hello');
});

test('an upgrade for a pod that is not there is refused with a Status', async () => {
  const server = await both(() => undefined);
  const { port, ca, admin } = server;
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1' };
    const path = `${podsPath}/nope/exec?command=sh`;
    request(
      {
        host: '127.0.0.1',
        port,
        ca,
        cert: admin.cert,
        key: admin.key,
        path,
        headers,
        method: 'POST',
        agent: false,
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    )
      .on('error', reject)
      .end();
  });
  expect(status).toBe(404);
});
