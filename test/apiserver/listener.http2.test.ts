import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as dial } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';

let server: EmbeddedApiServer;
let session: ClientHttp2Session;

beforeEach(async () => {
  server = await EmbeddedApiServer.start();
  session = connect(server.url, { ca: server.ca, ...server.admin });
  session.on('error', () => undefined);
});

afterEach(async () => {
  session.destroy();
  await server.stop();
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

const open = (path: string, method = 'GET', headers: object = {}): ClientHttp2Stream =>
  session.request({ ':path': path, ':method': method, 'content-type': 'application/json', ...headers });

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return { status: Number(headers[':status']), headers, text };
}

function ask(path: string, method = 'GET', body?: object, headers: object = {}): Promise<Answer> {
  const stream = open(path, method, headers);
  stream.end(body && JSON.stringify(body));
  return answerOf(stream);
}

/** Returns a frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.set([type, flags], 3);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const maps = '/api/v1/namespaces/default/configmaps';

describe('over HTTP/2', () => {
  test('objects are created, read, patched and deleted by the user of the certificate', async () => {
    expect((await ask(maps, 'POST', { metadata: { name: 'a' }, data: { k: '1' } })).status).toBe(201);
    const patched = await ask(
      `${maps}/a`,
      'PATCH',
      { data: { k: '2' } },
      {
        'content-type': 'application/merge-patch+json',
      },
    );
    expect(JSON.parse(patched.text)).toMatchObject({ data: { k: '2' } });
    const me = await ask('/apis/authentication.k8s.io/v1/selfsubjectreviews', 'POST', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    });
    expect(JSON.parse(me.text)).toMatchObject({ status: { userInfo: { username: 'podtender-admin' } } });
    expect((await ask(`${maps}/a`, 'DELETE')).status).toBe(200);
    expect((await ask(`${maps}/a`)).status).toBe(404);
  });

  test('each connection has the user of its own certificate, in every request', async () => {
    const jane = connect(server.url, { ca: server.ca, ...server.clientCertificate('jane') });
    try {
      const whoOf = async (one: ClientHttp2Session): Promise<unknown> => {
        const stream = one.request({
          ':path': '/apis/authentication.k8s.io/v1/selfsubjectreviews',
          ':method': 'POST',
          'content-type': 'application/json',
        });
        stream.end('{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}');
        return JSON.parse((await answerOf(stream)).text) as unknown;
      };
      for (let round = 0; round < 2; round++) {
        expect(await whoOf(session)).toMatchObject({ status: { userInfo: { username: 'podtender-admin' } } });
        expect(await whoOf(jane)).toMatchObject({
          status: { userInfo: { username: 'jane', groups: ['system:authenticated'] } },
        });
      }
    } finally {
      jane.destroy();
    }
  });

  test('a body that grows beyond the limit is answered with 413', async () => {
    const stream = open(maps, 'POST');
    const answer = answerOf(stream);
    stream.on('error', () => undefined);
    for (let i = 0; i < 4; i++) stream.write('x'.repeat(1024 * 1024));
    expect((await answer).status).toBe(413);
  });

  test('names of the server, repeated headers and warnings are as over HTTP/1', async () => {
    const core = await ask('/api');
    expect(core.text).toContain(`127.0.0.1:${server.port}`);
    const denied = await ask('/api/v1/secrets', 'GET', undefined, {
      'impersonate-user': 'jane',
      'impersonate-group': ['one', 'two'],
    });
    expect(denied.status).toBe(403);
    expect(denied.text).toContain('jane');
    const warned = await ask('/api/v1/namespaces/default/endpoints');
    expect(warned.headers['warning']).toContain('v1 Endpoints is deprecated');
  });

  test('many watches share one connection', async () => {
    const events: string[] = [];
    const watches = Array.from({ length: 60 }, () => {
      const stream = open(`${maps}?watch=1`);
      stream.on('data', (chunk: Buffer) => events.push(String(chunk)));
      stream.on('error', () => undefined);
      return stream;
    });
    await Promise.all(watches.map((stream) => once(stream, 'response')));
    await ask(maps, 'POST', { metadata: { name: 'seen' } });
    const [first, ...rest] = watches;
    await expect.poll(() => events.filter((text) => text.includes('"seen"')).length).toBe(60);
    // one that is cancelled leaves the others
    first?.close(constants.NGHTTP2_CANCEL);
    await ask(maps, 'POST', { metadata: { name: 'later' } });
    await expect.poll(() => events.filter((text) => text.includes('"later"')).length).toBe(rest.length);
  });

  test('a body that its client cancels changes nothing', async () => {
    // Node's own client ends a stream before it cancels it
    const socket = dial({
      host: '127.0.0.1',
      port: server.port,
      ca: server.ca,
      ...server.admin,
      ALPNProtocols: ['h2'],
    });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    const headers = {
      ':method': 'POST',
      ':scheme': 'https',
      ':path': maps,
      ':authority': 'a',
      'content-type': 'application/yaml',
    };
    const block = Object.entries(headers).map(([name, value]) =>
      Buffer.concat([
        Buffer.of(0, name.length),
        Buffer.from(name),
        Buffer.of(value.length),
        Buffer.from(value),
      ]),
    );
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(frame(4, 0, 0));
    socket.write(frame(1, 4, 1, Buffer.concat(block)));
    socket.write(frame(0, 0, 1, Buffer.from('{"metadata": {"name": "half"}}\n')));
    await once(socket, 'data');
    socket.write(frame(3, 0, 1, Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL)));
    socket.write(frame(6, 0, 0, Buffer.alloc(8))); // a ping: its answer shows that the rest has been read
    let read = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => (read = Buffer.concat([read, chunk])));
    await expect.poll(() => read.includes(Buffer.of(0, 0, 8, 6, 1))).toBe(true);
    expect((await ask(`${maps}/half`)).status).toBe(404);
    socket.destroy();
  });

  test('an injected disconnect ends one request only', async () => {
    const watch = open(`${maps}?watch=1`);
    await once(watch, 'response');
    server.faults.add({ match: { verbs: ['create'] }, disconnect: 'after', times: 1 });
    const cut = open(maps, 'POST');
    cut.on('error', () => undefined);
    cut.end(JSON.stringify({ metadata: { name: 'made' } }));
    await once(cut, 'close');
    expect((await ask(`${maps}/made`)).status).toBe(200);
    expect(watch.closed).toBe(false);
    watch.on('error', () => undefined);
    watch.close();
  });

  test('the end of the server ends its watches', async () => {
    const watch = open(`${maps}?watch=1`);
    watch.on('error', () => undefined);
    await once(watch, 'response');
    const closed = once(session, 'close');
    await server.stop();
    await closed;
    server = await EmbeddedApiServer.start();
  });
});

test('a server without HTTP/2 negotiates HTTP/1.1', async () => {
  const plain = await EmbeddedApiServer.start({ http2: false });
  const other = connect(plain.url, { ca: plain.ca, ...plain.admin });
  const [reason] = (await once(other, 'error')) as [Error & { code?: string }];
  expect(reason.message).toBeTruthy();
  other.destroy();
  await plain.stop();
});
