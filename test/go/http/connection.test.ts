import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from 'node:tls';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { httpGet } from '../../../src/go/http/client.ts';
import { asked, listen, outcomeOf, probeClient, requestOf, serverKey } from './support.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const fine = (socket: TLSSocket): void => {
  socket.on('error', () => undefined);
  socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nfine'));
};
const secured = (options: TlsOptions = {}, serve = fine): Promise<number> =>
  listen(createTlsServer({ ...serverKey, ...options }, serve).on('tlsClientError', () => undefined));
const https = (port: number, action = {}): ReturnType<typeof requestOf> =>
  requestOf(port, { scheme: 'HTTPS', ...action });
const get = 'Get "https://127.0.0.1:PORT/p": ';

test.for([
  ['HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'http: server gave HTTP response to HTTPS client'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', 'tls: first record does not look like a TLS handshake'],
  ['SSL 2', '\x80\x2e\x01\x00\x02\x00\x15', 'tls: unsupported SSLv2 handshake received'],
  ['less than a record', '\x16\x03', 'unexpected EOF'],
  ['a part of a record', '\x16\x03\x03\x00\x50\x02\x00', 'unexpected EOF'],
  ['nothing', '', 'EOF'],
  ['too large a record', '\x16\x03\x03\xff\xff\x02\x00', 'tls: oversized record received with length 65535'],
  ['an alert', '\x15\x03\x03\x00\x02\x02\x28', 'remote error: tls: handshake failure'],
  [
    'an alert about the version',
    '\x15\x03\x03\x00\x02\x02\x46',
    'remote error: tls: protocol version not supported',
  ],
  ['an alert about the name', '\x15\x03\x03\x00\x02\x02\x70', 'remote error: tls: unrecognized name'],
] as const)('instead of TLS %s: %#', async ([, bytes, fault]) => {
  const port = await asked((socket) => socket.end(bytes, 'latin1'));
  expect(await outcomeOf(https(port))).toBe(get + fault);
});

test('an old version that the server picks is refused by its number', async () => {
  const hello = Buffer.concat([hex('160301002a020000260301'), Buffer.alloc(32, 1), hex('00c01300')]);
  const port = await asked((socket) => socket.end(hello));
  expect(await outcomeOf(https(port))).toBe(`${get}tls: server selected unsupported protocol version 301`);
});

test.for([
  ['wants a certificate', { requestCert: true, minVersion: 'TLSv1.3' }, 'certificate required'],
  ['has other protocols only', { ALPNProtocols: ['foo'] }, 'no application protocol'],
  ['has old ciphers only', { maxVersion: 'TLSv1.2', ciphers: 'AES256-SHA' }, 'handshake failure'],
] as const)('a server that %s sends an alert, which is told alike each time', async ([, options, alert]) => {
  const port = await secured({
    ...options,
    ALPNProtocols: [...('ALPNProtocols' in options ? options.ALPNProtocols : ['http/1.1'])],
  });
  const told = [await outcomeOf(https(port)), await outcomeOf(https(port))];
  expect(told).toEqual(Array(2).fill(`${get}remote error: tls: ${alert}`));
});

test('a server is called by its name, but not by its address, nor by the Host header', async () => {
  const names: unknown[] = [];
  const port = await secured({}, (socket) => {
    names.push(socket.servername);
    fine(socket);
  });
  const httpHeaders = [{ name: 'Host', value: 'other.example' }];
  expect(await outcomeOf(https(port, { httpHeaders }))).toBe('200 fine');
  expect(await outcomeOf(https(port, { host: 'localhost' }))).toBe('200 fine');
  expect(names).toEqual([false, 'localhost']);
});

test('a server may say no more than it has, and end without a word', async () => {
  const port = await secured({}, (socket) => {
    socket.on('error', () => undefined).once('data', () => socket.destroy());
  });
  expect(await outcomeOf(https(port))).toBe(`${get}EOF`);
  const reset = await asked((socket) => socket.resetAndDestroy());
  expect(await outcomeOf(https(reset))).toBe(
    `${get}read tcp CLIENT->127.0.0.1:PORT: read: connection reset by peer`,
  );
});

test('a handshake has ten seconds, a connection as long as its client gives it', async () => {
  const clock = new FakeClock();
  const opened = Promise.withResolvers<undefined>();
  const silent = await listen(
    createServer((socket) =>
      socket.once('data', () => {
        opened.resolve(undefined);
      }),
    ),
  );
  const { signal } = new AbortController();
  const shaking = httpGet(https(silent), { ...probeClient, clock }, signal);
  void opened.promise.then(() => clock.advance(10_000));
  await expect(shaking).rejects.toThrow(/: net\/http: TLS handshake timeout$/);
  // over before a connection can be made
  const hasty = {
    ...systemClock,
    timer: (_ms: number, fn: () => void) => (queueMicrotask(fn), () => undefined),
  };
  const dialing = httpGet(requestOf(silent), { ...probeClient, clock: hasty, dialTimeoutMs: 30_000 }, signal);
  await expect(dialing).rejects.toThrow(`dial tcp 127.0.0.1:${silent}: i/o timeout`);
});
