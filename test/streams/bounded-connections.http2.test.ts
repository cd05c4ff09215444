import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type Http2Server } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { BoundedConnections } from '../../src/streams/bounded-connections.ts';
import { http2Server } from '../../src/streams/http2-messages.ts';

const limits = {
  ...{ connections: 4, perAddress: 4, headersMs: 10_000, requestMs: 20_000 },
  ...{ keepAliveMs: 90_000, stalledMs: 60_000, streamMs: 3_600_000 },
};

let clock: FakeClock;
let connections: BoundedConnections;
let front: Server;
let http2: Http2Server;
let session: ClientHttp2Session;

beforeEach(async () => {
  clock = new FakeClock(0);
  connections = new BoundedConnections(limits, clock);
  http2 = http2Server((request, response) => {
    if (request.url === '/wait') request.resume();
    else response.end('ok');
  });
  connections.watchHttp2(http2);
  front = createServer((socket: Socket) => {
    connections.admit(socket);
    http2.emit('connection', socket);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  session = connect(`http://127.0.0.1:${(front.address() as AddressInfo).port}`);
  session.on('error', () => undefined);
});

afterEach(() => {
  session.destroy();
  front.close();
});

/** Starts a request, and waits until the server has it. */
async function begin(path: string, method = 'GET'): Promise<ClientHttp2Stream> {
  const arrived = once(http2, 'stream');
  const stream = session.request({ ':path': path, ':method': method });
  stream.on('error', () => undefined);
  await arrived;
  return stream.resume();
}

/** Moves the clock in the steps of the sweeps. */
async function wait(ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 1000) await clock.advance(1000);
}

test('a session is closed only after it has been without requests for long', async () => {
  const waiting = await begin('/wait');
  await once(await begin('/'), 'close');
  await wait(200_000);
  expect(session.closed).toBe(false);
  waiting.close();
  await once(waiting, 'close');
  await once(await begin('/'), 'close');
  await wait(80_000);
  expect(session.closed).toBe(false);
  const closed = once(session, 'close');
  await wait(20_000);
  await closed;
  await expect.poll(() => connections.size).toBe(0);
});

test('a session that never sends a request is closed early', async () => {
  await once(session, 'connect');
  await expect.poll(() => connections.size).toBe(1);
  const closed = once(session, 'close');
  await wait(12_000);
  await closed;
});

test('a body that does not come ends its stream, and no other', async () => {
  const waiting = await begin('/wait');
  const late = await begin('/wait', 'POST');
  late.write('half');
  const closed = once(late, 'close');
  await wait(22_000);
  await closed;
  expect(late.rstCode).not.toBe(0);
  expect(waiting.closed).toBe(false);
});
