import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { request } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { ownAddress } from '../support/own-address.ts';
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
      expect(incoming.url).toBe('/exec/default/p/c?command=sh&input=1&output=1');
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

test('an upgrade behind another request is answered after it', async () => {
  const { port, ca, admin } = await both(() => undefined);
  const socket = connect({ host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key });
  const head = 'HTTP/1.1\r\nHost: x\r\n';
  const upgrade = `POST ${podsPath}/nope/exec ${head}Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`;
  socket.write(`GET ${podsPath} ${head}\r\n${upgrade}`);
  let came = '';
  for await (const chunk of socket) came += String(chunk);
  expect(came).toMatch(/^HTTP\/1\.1 200 [^]*"PodList"[^]*HTTP\/1\.1 404 [^]*"NotFound"/);
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

async function setAddress(server: EmbeddedApiServer, ip: string): Promise<void> {
  const status = { podIP: ip, podIPs: [{ ip }] };
  const answer = await call(
    server,
    'PATCH',
    `${podsPath}/p/status`,
    { status },
    'application/merge-patch+json',
  );
  expect(answer).toMatchObject({ status: 200, body: { status } });
}

test('a pod is reached at its address, by port and scheme, and is told who asked', async () => {
  const host = ownAddress();
  const server = await both(() => undefined);
  const backend = createHttpServer((incoming, response) => {
    const { host: _host, ...headers } = incoming.headers;
    response.writeHead(302, { Location: '/elsewhere', 'X-Kind': 'own' });
    response.end(JSON.stringify({ url: incoming.url, headers }));
  });
  await new Promise<void>((resolve) => backend.listen(0, host, resolve));
  ends.push(() => void backend.close());
  const { port } = backend.address() as AddressInfo;
  await setAddress(server, host);
  const answer = await call(server, 'GET', `${podsPath}/p:${port}/proxy/a%20b?c=d`);
  expect(answer.status).toBe(302);
  expect(answer.headers.location).toBe(`${podsPath}/p:${port}/proxy/elsewhere`);
  const seen = answer.body as unknown as { url: string; headers: Record<string, string> };
  expect(seen.url).toBe('/a%20b?c=d');
  expect(seen.headers['authorization']).toBeUndefined();
  expect(seen.headers['x-forwarded-uri']).toBe(`${podsPath}/p:${port}/proxy/a%20b`);
  expect(await call(server, 'GET', `${podsPath}/p:1/proxy/`)).toMatchObject({
    status: 503,
    body: { message: `error trying to reach service: dial tcp ${host}:1: connect: connection refused` },
  });
  expect(await call(server, 'GET', `${podsPath}/p/proxy`)).toMatchObject({ status: 301 });
});

test.for(['127.0.0.1', '169.254.169.254', '::1', 'fe80::1', '0.0.0.0', ''])(
  'a pod that says its address is "%s" is not proxied to',
  async (podIP) => {
    const server = await both(() => undefined);
    if (podIP !== '') await setAddress(server, podIP);
    expect(await call(server, 'GET', `${podsPath}/p:80/proxy/`)).toMatchObject({
      status: 400,
      body: { message: 'address not allowed' },
    });
  },
);

test.for([
  [
    'tailLines=-1',
    422,
    'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
  ],
  ['limitBytes=0', 422, 'PodLogOptions "p" is invalid: limitBytes: Invalid value: 0: must be greater than 0'],
  ['stream=Stdout', 422, 'PodLogOptions "p" is invalid: stream: Forbidden: may not be specified'],
  ['tailLines=x', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
  ['container=zz', 400, 'container zz is not valid for pod p'],
] as const)('logs with %s are refused', async ([query, status, message]) => {
  const server = await both(() => undefined);
  expect(await call(server, 'GET', `${podsPath}/p/log?${query}`)).toMatchObject({
    status,
    body: { message },
  });
});

test('what a kubelet refuses is told in the words of the API server', async () => {
  let status = 404;
  const server = await both((kubelet) => {
    kubelet.on('request', (_incoming, response) => response.writeHead(status).end('no'));
  });
  const log = (): Promise<unknown> => call(server, 'GET', `${podsPath}/p/log`);
  const details = { name: 'p', kind: 'pods/log' };
  expect(await log()).toMatchObject({
    status: 404,
    body: {
      message: 'the server could not find the requested resource ( pods/log p)',
      reason: 'NotFound',
      details,
    },
  });
  status = 500;
  expect(await log()).toMatchObject({ status: 500, body: { message: 'Internal error occurred: no' } });
  status = 401;
  expect(await log()).toMatchObject({ status: 401, body: { reason: 'Unauthorized', details } });
  status = 502;
  expect(await log()).toMatchObject({
    status: 502,
    body: {
      message: 'an error on the server ("no") has prevented the request from succeeding ( pods/log p)',
    },
  });
});
