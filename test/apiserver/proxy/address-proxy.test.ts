import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';

let backend: Server;
let server: EmbeddedApiServer;

afterEach(async () => {
  backend.closeAllConnections();
  backend.close();
  await server.stop();
});

/** An address of this machine that may be proxied to. */
const host = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

interface Answer {
  readonly type: string | undefined;
  readonly body: string;
}

function ask(path: string, method: string, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { host: '127.0.0.1', port: server.port, path, method, ca: server.ca, ...server.admin, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          resolve({ type: response.headers['content-type'], body: Buffer.concat(chunks).toString('latin1') });
        });
      },
    );
    request.on('error', reject).end(body);
  });
}

async function proxied(serve: RequestListener, method = 'GET', body?: string): Promise<Answer> {
  backend = createServer(serve);
  backend.listen(0, host);
  await once(backend, 'listening');
  server = await EmbeddedApiServer.start();
  const { port } = backend.address() as AddressInfo;
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    status: { addresses: [{ type: 'InternalIP', address: host }] },
  };
  await ask('/api/v1/nodes', 'POST', JSON.stringify(node));
  return ask(`/api/v1/nodes/http:n:${port}/proxy/x`, method, body);
}

const answers: Readonly<
  Record<string, readonly [type: string | undefined, serve: RequestListener, method?: string]>
> = {
  text: ['text/plain; charset=utf-8', (_request, response) => response.end('out1\nerr1\n')],
  chunks: [
    'text/plain; charset=utf-8',
    (_request, response) => {
      response.flushHeaders();
      response.write('out1\n');
      response.end('out2\n');
    },
  ],
  binary: ['application/octet-stream', (_request, response) => response.end(Buffer.from([0, 1, 2]))],
  HTML: ['text/html; charset=utf-8', (_request, response) => response.end('<html><body>')],
  'what names its type': [
    'application/json',
    (_request, response) => response.setHeader('Content-Type', 'application/json').end('<html>'),
  ],
  'what is compressed': [
    undefined,
    (_request, response) => response.setHeader('Content-Encoding', 'gzip').end(gzipSync('text')),
  ],
  nothing: [undefined, (_request, response) => response.end()],
  'the head of text': [undefined, (_request, response) => response.end('text'), 'HEAD'],
};

test.runIf(host !== undefined).for(Object.keys(answers))(
  '%s is announced as by Go’s servers',
  async (what) => {
    const [type, serve = () => undefined, method] = answers[what] ?? [];
    const answer = await proxied(serve, method);
    expect(answer.type).toBe(type);
    if (what === 'chunks') expect(answer.body).toBe('out1\nout2\n');
  },
);

test.runIf(host !== undefined)('what begins late is announced without a type, and comes whole', async () => {
  const answer = await proxied((_request, response) => {
    response.flushHeaders();
    setTimeout(() => response.end('late'), 400);
  });
  expect(answer).toEqual({ type: undefined, body: 'late' });
});

test.runIf(host !== undefined)('a body goes through', async () => {
  const answer = await proxied(
    (request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => response.end(`got ${text}`));
    },
    'PUT',
    '{}',
  );
  expect(answer.body).toBe('got {}');
});

test.skipIf(host === undefined)(
  'requests over HTTP/2 are passed on without their pseudo headers',
  async () => {
    let seen: IncomingHttpHeaders = {};
    await proxied((request, response) => {
      seen = request.headers;
      response.end('out');
    });
    const { port } = backend.address() as AddressInfo;
    const session = connectHttp2(server.url, { ca: server.ca, ...server.admin });
    const stream = session.request({ ':path': `/api/v1/nodes/http:n:${port}/proxy/y`, 'x-mine': 'a' });
    let body = '';
    for await (const chunk of stream) body += String(chunk);
    session.close();
    expect(body).toBe('out');
    expect(seen).toMatchObject({ 'x-mine': 'a' });
    expect(Object.keys(seen).filter((name) => name.startsWith(':'))).toEqual([]);
  },
);
