import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { normalize } from 'node:path/posix';
import { connect } from 'node:tls';
import { request } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { ownAddress } from '../../support/own-address.ts';
import { asksInSilence } from '../../support/tcp-timers.ts';
import { call, pod, podsPath } from '../support.ts';

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

test('logs come through as the kubelet sends them, piece by piece, and a silent kubelet is asked whether it is there', async () => {
  let release = (): void => undefined;
  let sides: Parameters<typeof asksInSilence>[0] = { localPort: 0, remotePort: 0 };
  const server = await both((kubelet) => {
    kubelet.on('request', (incoming, response) => {
      expect(incoming.url).toBe('/containerLogs/default/p/c?follow=true');
      response.write('first\n');
      sides = { localPort: incoming.socket.remotePort, remotePort: incoming.socket.localPort };
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
          asksInSilence(sides).then(release, reject);
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

test('a pod is reached at its address, by port and scheme, with the client’s address', async () => {
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

/** What comes back for a request written by hand, until the connection ends; `then` is said once the head of an answer has come. */
async function spoken(server: EmbeddedApiServer, head: string, then = ''): Promise<string> {
  const { port, ca, admin } = server;
  const socket = connect({ host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key });
  socket.write(`${head.split('\n').join('\r\n')}\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n`);
  let came = '';
  for await (const chunk of socket) {
    came += String(chunk);
    if (then !== '' && came.endsWith('\r\n\r\n')) socket.write(then);
  }
  return came;
}

/** A pod that answers upgrades, and where. */
async function upgradable(
  server: EmbeddedApiServer,
  answer: string,
): Promise<{ at: string; seen: string[] }> {
  const seen: string[] = [];
  const backend = createHttpServer().on('upgrade', (incoming, socket) => {
    seen.push(`${incoming.method ?? ''} ${incoming.url ?? ''}`, incoming.headers.authorization ?? 'nobody');
    socket.write(answer);
    socket.on('data', (chunk: Buffer) => socket.end(`echo ${chunk.toString()}`));
  });
  const host = ownAddress();
  await new Promise<void>((resolve) => backend.listen(0, host, resolve));
  ends.push(() => void backend.close());
  await setAddress(server, host);
  return { at: `${podsPath}/p:${(backend.address() as AddressInfo).port}/proxy`, seen };
}

test('an upgrade through the proxy is joined with the pod, which sees the path alone', async () => {
  const server = await both(() => undefined);
  const { at, seen } = await upgradable(
    server,
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: own\r\nConnection: Upgrade\r\n\r\n',
  );
  const text = await spoken(server, `GET ${at}/a//b%20c/?d=e HTTP/1.1\nAuthorization: Bearer admin`, 'hello');
  expect(text).toMatch(/^HTTP\/1\.1 101 [^]*echo hello$/);
  expect(seen).toEqual(['GET /a/b%20c/', 'nobody']);
});

test.for(['HTTP/1.1 101 Switching Protocols\r\nUpgrade: own\r\nConnection: Upgrade\r\n\r\n', ''])(
  'a pod that answers a plain request with %j is not waited for',
  async (said) => {
    const server = await both(() => undefined);
    const backend = createTcpServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.end(said)),
    );
    const host = ownAddress();
    await new Promise<void>((resolve) => backend.listen(0, host, resolve));
    ends.push(() => void backend.close());
    await setAddress(server, host);
    const at = `${podsPath}/p:${(backend.address() as AddressInfo).port}/proxy`;
    expect(await call(server, 'GET', `${at}/x`)).toMatchObject({
      status: 503,
      body: { message: expect.stringMatching(/^error trying to reach service: /) as string },
    });
  },
);

test('a server that stops ends the connections that it joined', async () => {
  const server = await both(() => undefined);
  const { at } = await upgradable(
    server,
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: own\r\nConnection: Upgrade\r\n\r\n',
  );
  const { port, ca, admin } = server;
  const socket = connect({ host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key });
  socket.write(`GET ${at}/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n`);
  const [came] = (await once(socket, 'data')) as [Buffer];
  expect(came.toString()).toContain('101');
  const gone = once(socket, 'close');
  await server.stop();
  await gone;
});

test.for([
  ['HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno', 'GET', '/x', /^HTTP\/1\.1 403 [^]*\r\n\r\nno$/],
  [
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
    'GET',
    '/x',
    /^HTTP\/1\.1 500 [^]*invalid upgrade response: status code 200/,
  ],
  ['', 'GET', '/x?dryRun=All', /^HTTP\/1\.1 400 [^]*dryRun is not supported/],
  ['', 'HEAD', '/x?dryRun=All', /^HTTP\/1\.1 400 [^]*\r\n\r\n$/],
] as const)(
  'an upgrade that a pod answers with %j is refused, asked by %s %s',
  async ([said, method, path, want]) => {
    const server = await both(() => undefined);
    const { at } = await upgradable(server, said);
    expect(await spoken(server, `${method} ${at}${path} HTTP/1.1`)).toMatch(want);
  },
);

test('an upgrade to a pod that does not listen says so, in the form that the client accepts', async () => {
  const server = await both(() => undefined);
  const host = ownAddress();
  await setAddress(server, host);
  const text = await spoken(server, `GET ${podsPath}/p:1/proxy/ HTTP/1.1\nAccept: application/yaml`);
  expect(text).toContain('Content-Type: application/yaml');
  expect(text.replace(/\s+/g, ' ')).toContain(
    `error dialing backend: dial tcp ${host}:1: connect: connection refused`,
  );
});

test('who offers an upgrade where there is none is answered as any other, however long that is', async () => {
  const line = `${'x'.repeat(1023)}\n`;
  const server = await both((kubelet) => {
    kubelet.on('request', (_incoming, response) => response.end(line.repeat(4096)));
  });
  const pods = await spoken(server, `GET ${podsPath} HTTP/1.1`);
  expect(pods).toMatch(/^HTTP\/1\.1 200 [^]*"PodList"/);
  const log = await spoken(server, `GET ${podsPath}/p/log HTTP/1.1`);
  expect(log).toMatch(/^HTTP\/1\.1 200 /);
  expect(log.length).toBeGreaterThan(4096 * 1024);
  expect(await spoken(server, `PUT ${podsPath}/p/exec HTTP/1.1`)).toMatch(/^HTTP\/1\.1 405 /);
});

test.for(['Content-Length: 99\r\n', 'Transfer-Encoding: chunked\r\n'])(
  'an answer %j that breaks off on its way breaks off here',
  async (length) => {
    const server = await both(() => undefined);
    const host = ownAddress();
    const backend = createTcpServer((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\n${length}\r\n5\r\nfirst\r\n`);
    });
    await new Promise<void>((resolve) => backend.listen(0, host, resolve));
    ends.push(() => void backend.close());
    await setAddress(server, host);
    const { port } = backend.address() as AddressInfo;
    await expect(call(server, 'GET', `${podsPath}/p:${port}/proxy/`)).rejects.toThrow(/aborted|hang up/);
  },
);

test('a path that no header can tell of is refused', async () => {
  const server = await both(() => undefined);
  await setAddress(server, ownAddress());
  expect(await call(server, 'GET', `${podsPath}/p:1/proxy/a//%0d%0aX:y`)).toMatchObject({
    status: 503,
    body: {
      message: 'error trying to reach service: net/http: invalid header field value for "X-Forwarded-Uri"',
    },
  });
});

test.for([
  ['a//b/../c', '/a/c', 'proxy/a//b/../c/a/c'],
  ['a%2Fb/', '/a/b/', 'proxy/a/b/'],
] as const)('the path %s of a proxied request is %s below it', async ([path, url, uri]) => {
  const server = await both(() => undefined);
  const backend = createHttpServer((incoming, response) => {
    response.end(JSON.stringify({ url: incoming.url, uri: incoming.headers['x-forwarded-uri'] }));
  });
  const host = ownAddress();
  await new Promise<void>((resolve) => backend.listen(0, host, resolve));
  ends.push(() => void backend.close());
  await setAddress(server, host);
  const at = `${podsPath}/p:${(backend.address() as AddressInfo).port}`;
  const { body } = await call(server, 'GET', `${at}/proxy/${path}`);
  expect(body).toEqual({ url, uri: normalize(`${at}/${uri}`) });
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
  ['tailLines=x&sinceSeconds=y', 400, 'strconv.ParseInt: parsing "y": invalid syntax'],
  ['container=zz', 400, 'container zz is not valid for pod p'],
] as const)('logs with %s are refused', async ([query, status, message]) => {
  const server = await both(() => undefined);
  expect(await call(server, 'GET', `${podsPath}/p/log?${query}`)).toMatchObject({
    status,
    body: { message },
  });
});

test('a kubelet’s refusal is reported in the words of the API server', async () => {
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

test('a kubelet that answers without end why there is no log is cut off', async () => {
  let sent = 0;
  const server = await both((kubelet) => {
    kubelet.on('request', (_incoming, response) => {
      response.writeHead(500);
      const part = Buffer.alloc(1024 * 1024, 'x');
      const more = (): void => {
        if (response.destroyed) return;
        sent += part.length;
        if (response.write(part)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    });
  });
  expect(await call(server, 'GET', `${podsPath}/p/log`)).toMatchObject({
    status: 500,
    body: { message: 'a kubelet answered more than 33554432 bytes' },
  });
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});
