import { randomUUID } from 'node:crypto';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { duplexPair } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { FrameReader, ProtocolError } from '../../src/streams/spdy/frames.ts';
import { type KubeletServer, webhookAccess } from '../../src/server/kubelet-server.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { SpdyConnection } from '../../src/streams/spdy/connection.ts';
import { openStream, spdyClient } from '../support/spdy-client.ts';
import { admin, ask, hostWith, startServer } from './support.ts';

let server: KubeletServer;
afterEach(() => server.close());

const secret = `secret-${randomUUID()}`;
const withSecret = (): ReturnType<typeof hostWith> =>
  hostWith({
    readLog: async (_log, sink) => {
      await sink(Buffer.from(secret));
    },
    configz: () => ({ secret }),
    logsRoot: tmpdir(),
    exec: async () => 0,
    run: async () => ({ exitCode: 0, stdout: Buffer.from(secret), stderr: Buffer.alloc(0) }),
  });

const paths = [
  '/pods',
  '/runningpods/',
  '/containerLogs/ns/web/c',
  '/exec/ns/web/c?command=x&output=1',
  '/attach/ns/web/c?output=1',
  '/portForward/ns/web',
  '/run/ns/web/c?cmd=x',
  '/configz',
  '/metrics',
  '/metrics/resource',
  '/stats/summary',
  '/healthz',
  '/checkpoint/ns/web/c',
  '/logs/',
  '/metrics/cadvisor',
  '/metrics/probes',
];

describe('nothing is served without the right', () => {
  test.for(paths)('%s needs credentials, then permission', async (path) => {
    server = await startServer(withSecret(), { authorizer: { authorize: async () => false } });
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const anonymous = await ask(server, path, { method, cert: undefined, key: undefined });
      const forbidden = await ask(server, path, { method });
      expect([anonymous.status, forbidden.status]).toEqual([401, 403]);
      expect(anonymous.body + forbidden.body).not.toContain(secret);
    }
  });

  test('a failing authorizer denies access', async () => {
    server = await startServer(withSecret(), {
      authorizer: { authorize: () => Promise.reject(new Error(`the password is ${secret}`)) },
    });
    const answer = await ask(server, '/configz');
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain(secret);
  });
});

describe('/logs/ has no way out', () => {
  const dir = mkdtempSync(join(tmpdir(), 'logs-'));
  mkdirSync(join(dir, 'log/pods'), { recursive: true });
  writeFileSync(join(dir, 'secret'), secret);
  writeFileSync(join(dir, 'log/pods/a.log'), 'inside');
  symlinkSync(join(dir, 'secret'), join(dir, 'log/link'));
  symlinkSync(join(dir, 'log/pods/a.log'), join(dir, 'log/good'));
  afterEach(() => undefined);

  test.for([
    ['/logs/pods/a.log', 200],
    ['/logs/good', 200],
    ['/logs/link', 404],
    ['/logs/..%2fsecret', 404],
    ['/logs/%2e%2e/secret', 404],
    ['/logs/pods/..%2f..%2fsecret', 404],
    ['/logs/%00', 404],
  ] as const)('%s answers %i', async ([path, status]) => {
    server = await startServer(hostWith({ logsRoot: join(dir, 'log') }));
    const answer = await ask(server, path);
    expect(answer.status).toBe(status);
    expect(answer.body).not.toContain(secret);
  });
  test.for([
    ['a.log', 'text', 'text/plain; charset=utf-8'],
    ['a.txt', 'text', 'text/plain; charset=utf-8'],
    ['a.json', '{}', 'application/json'],
    ['a.html', 'x', 'text/html; charset=utf-8'],
    ['syslog', 'Jan  1 00:00:00 started\n', 'text/plain; charset=utf-8'],
    ['page', '<!DOCTYPE HTML><p>', 'text/html; charset=utf-8'],
    ['packed', Buffer.from([0x1f, 0x8b, 8, 0]), 'application/x-gzip'],
    ['wtmp', Buffer.from([0, 1, 2, 3]), 'application/octet-stream'],
    ['empty', '', 'text/plain; charset=utf-8'],
  ] as const)('the file %s is of the type that Go names', async ([name, content, type]) => {
    const types = join(dir, 'types');
    mkdirSync(types, { recursive: true });
    writeFileSync(join(types, name), content);
    server = await startServer(hostWith({ logsRoot: types }));
    const { status, headers, body } = await ask(server, `/logs/${name}`);
    expect([status, headers['content-type'], headers['content-length']]).toEqual([
      200,
      type,
      String(Buffer.byteLength(content)),
    ]);
    expect(headers['last-modified']).toMatch(/ GMT$/);
    if (typeof content === 'string') expect(body).toBe(content);
    const listed = await ask(server, '/logs/');
    expect([listed.headers['content-type'], listed.body]).toEqual([
      'text/html; charset=utf-8',
      expect.stringContaining(`<a href="${name}">${name}</a>`),
    ]);
  });
  test('turned off, it says so, as profiles do', async () => {
    const host = hostWith({ logsRoot: join(dir, 'log'), commandLine: ['podtender'] });
    server = await startServer(host, { disabled: { logs: true, profiling: true } });
    const [logs, profile] = await Promise.all(
      ['/logs/pods/a.log', '/debug/pprof/cmdline'].map((path) => ask(server, path)),
    );
    expect([logs?.status, logs?.body]).toEqual([405, 'logs endpoint is disabled.\n']);
    expect([profile?.status, profile?.body]).toEqual([405, 'profiling endpoint is disabled.\n']);
  });
  process.once('exit', () => {
    rmSync(dir, { recursive: true, force: true });
  });
});

const rawSocket = async (): Promise<TLSSocket> => {
  const socket = connectTls({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false, ...admin });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
};

/** How long until the server hangs up, ms. */
async function hangsUp(socket: { once(name: 'close', take: () => void): unknown }): Promise<number> {
  const startedAt = Date.now();
  await new Promise<void>((resolve) => socket.once('close', resolve));
  return Date.now() - startedAt;
}

describe('slow and half-open clients', () => {
  const limits = { headersMs: 300 };

  test('one who says nothing is hung up on', async () => {
    server = await startServer(withSecret(), { limits });
    expect(await hangsUp(connectTcp(server.port, '127.0.0.1').on('error', () => undefined))).toBeLessThan(
      2000,
    );
  });

  test('so is one who sends headers byte by byte', async () => {
    server = await startServer(withSecret(), { limits });
    const socket = await rawSocket();
    socket.resume();
    const timer = setInterval(() => socket.write('X'), 50);
    expect(await hangsUp(socket)).toBeLessThan(3000);
    clearInterval(timer);
  });

  test('headers and bodies beyond the bounds are refused', async () => {
    server = await startServer(withSecret(), { limits: { headerBytes: 8192, bodyBytes: 10_000 } });
    const big = ask(server, '/pods', { headers: { x: 'x'.repeat(20_000) } });
    const status = await big.then(
      (answer) => answer.status,
      () => 431, // it may hang up before the client has read why
    );
    expect(status).toBe(431);
    const request = httpsRequest({
      host: '127.0.0.1',
      port: server.port,
      path: '/healthz',
      method: 'POST',
      rejectUnauthorized: false,
      ...admin,
    });
    request.on('error', () => undefined);
    for (let i = 0; i < 20; i++) request.write(Buffer.alloc(10_000));
    await hangsUp(request);
    expect((await ask(server, '/healthz')).body).toBe('ok');
  });

  test('a client that opens no streams is hung up on', async () => {
    server = await startServer(withSecret(), { streams: { creationMs: 200 } });
    const socket = await rawSocket();
    socket.resume();
    socket.write(
      'POST /exec/ns/web/c?command=x&output=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n',
    );
    expect(await hangsUp(socket)).toBeLessThan(15_000);
  }, 20_000);
});

describe('tokens', () => {
  test.for([
    ['expired', (now: number) => now < 60_000],
    ['revoked', (_now: number, asked: number) => asked === 1],
  ] as const)('one that is %s is believed no longer than the cache holds', async ([, holds]) => {
    const clock = new FakeClock(0);
    let asked = 0;
    const access = webhookAccess(
      {
        tokenReview: async () => ({ authenticated: holds(clock.now(), ++asked), user: { username: 'u' } }),
        subjectAccessReview: async () => ({ allowed: true }),
      },
      clock,
    );
    server = await startServer(withSecret(), access);
    const status = async (): Promise<number> => {
      const options = { cert: undefined, key: undefined, headers: { authorization: 'Bearer t' } };
      return (await ask(server, '/configz', options)).status;
    };
    expect(await status()).toBe(200);
    await clock.advance(60_000);
    expect(await status()).toBe(200); // tokens are believed for two minutes, as with the kubelet
    await clock.advance(60_001);
    expect(await status()).toBe(401);
  });
});

describe('requests that say two things', () => {
  const smuggled = 'GET /configz HTTP/1.1\r\nHost: x\r\n\r\n';
  const length = `Content-Length: ${smuggled.length}\r\n`;
  const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';

  test.for([
    ['two lengths', `POST /healthz HTTP/1.1\r\nHost: x\r\n${length}Content-Length: 0\r\n\r\n${smuggled}`],
    [
      'a length and chunks',
      `POST /healthz HTTP/1.1\r\nHost: x\r\n${length}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    [
      'chunks in disguise',
      `POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    [
      'a coding after chunks',
      `POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    ['a length that is none', `POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n${smuggled}`],
    ['a folded header', `${health}X: a\r\n b\r\n\r\n${smuggled}`],
    [
      'a space before the colon',
      `POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n${smuggled}`,
    ],
    ['a bare line feed', `${health}X: a\nY: b\r\n\r\n${smuggled}`],
    ['an upgrade that is followed', `${health}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n${smuggled}`],
    ['a pipelined one', `${health}\r\n${smuggled}`],
    ['a path in the authority', 'GET http://x/configz HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a path that climbs', 'GET /healthz/../configz HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an encoded path', 'GET /healthz/%2e%2e/configz HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'another user',
      `${health.replace('/healthz', '/configz')}X-Remote-User: root\r\nX-Remote-Group: system:masters\r\n\r\n`,
    ],
    [
      'somebody else',
      `${health.replace('/healthz', '/configz')}Impersonate-User: root\r\nImpersonate-Group: system:masters\r\n\r\n`,
    ],
    ['another method', `${health.replace('/healthz', '/configz')}X-HTTP-Method-Override: HEAD\r\n\r\n`],
  ] as const)('%s', async ([, sent]) => {
    server = await startServer(withSecret(), {
      authorizer: { authorize: async ({ subresource }) => subresource === 'healthz' },
    });
    const socket = await rawSocket();
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.end(sent);
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 (200|307|400|403|404|405)/);
    expect(text).not.toContain(secret);
  });
});

describe('streams that are left half open', () => {
  const spdy = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n`;

  test('a hundred clients that vanish after the handshake leave nothing behind', async () => {
    server = await startServer(hostWith({ exec: async () => 0 }), { streams: { creationMs: 500 } });
    const sockets = await Promise.all(Array.from({ length: 100 }, rawSocket));
    const handshakes = sockets.map(async (socket, i) => {
      socket.write(spdy('/exec/ns/web/c?command=x&output=1'));
      await once(socket, 'data');
      if (i % 2 === 0) socket.destroy();
      else socket.end(); // its end only: the server has to see it
    });
    await Promise.all(handshakes);
    // some ends are resets, at which `once` would fail
    await Promise.all(sockets.filter(({ closed }) => !closed).map((socket) => hangsUp(socket.resume())));
    expect((await ask(server, '/healthz')).body).toBe('ok');
  }, 30_000);

  test('one who ends his side while the command runs is let go of', async () => {
    const aborted = Promise.withResolvers<undefined>();
    const exec: NonNullable<ReturnType<typeof hostWith>['exec']> = (_c, _words, _io, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          aborted.resolve(undefined);
          resolve(0);
        });
      });
    server = await startServer(hostWith({ exec }));
    const connection = await spdyClient({
      port: server.port,
      path: '/exec/ns/web/c?command=x&output=1',
      client: admin,
    });
    await Promise.all(['error', 'stdout'].map((type) => openStream(connection, type)));
    connection.close();
    await aborted.promise;
  });
});

describe('noise', () => {
  test('random request bytes neither crash it nor get anything', async () => {
    server = await startServer(withSecret(), { authorizer: { authorize: async () => false } });
    const words = [
      'GET ',
      'POST ',
      '/configz',
      '/pods',
      '..',
      '%2e',
      '//',
      ' HTTP/1.1\r\n',
      '\r\n',
      'Host: x\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Content-Length: 5\r\n',
      'Upgrade: websocket\r\nConnection: Upgrade\r\n',
      '\0',
      'ÿ',
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...words), { maxLength: 12 }), async (parts) => {
        const socket = await rawSocket();
        let text = '';
        socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
        socket.end(`${parts.join('')}\r\n\r\n`);
        await Promise.race([once(socket, 'close'), systemClock.sleep(200)]);
        socket.destroy();
        expect(text).not.toContain(secret);
      }),
      { numRuns: 200 },
    );
    expect((await ask(server, '/healthz')).status).toBe(403);
  }, 60_000);

  test('random frames end a SPDY connection at worst', async () => {
    server = await startServer(hostWith());
    const frame = fc.record({
      head: fc.constantFrom(
        [0x80, 3, 0, 1],
        [0x80, 3, 0, 2],
        [0x80, 3, 0, 3],
        [0x80, 3, 0, 6],
        [0x80, 3, 0, 8],
        [0, 0, 0, 1],
        [0x80, 2, 0, 1],
      ),
      flags: fc.integer({ min: 0, max: 3 }),
      body: fc.uint8Array({ maxLength: 64 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 20 }), async (frames) => {
        const [mine, theirs] = duplexPair();
        const connection = new SpdyConnection(theirs, {
          clock: systemClock,
          idleMs: 1000,
          onStream: (stream) => {
            stream.resume();
            stream.end();
          },
        });
        const running = connection.run();
        mine.resume();
        mine.on('error', () => undefined);
        for (const { head, flags, body } of frames)
          mine.write(Buffer.concat([Buffer.from([...head, flags, 0, 0, body.length]), body]));
        mine.end();
        await running;
      }),
      { numRuns: 2000 },
    );
  }, 60_000);

  test('a frame longer than the bound is refused before it is read', () => {
    const reader = new FrameReader();
    reader.push(Buffer.from([0, 0, 0, 1, 0, 0xff, 0xff, 0xff]));
    expect(() => reader.next()).toThrow(ProtocolError);
  });
});
