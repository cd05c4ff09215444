import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import {
  addressGroup,
  BoundedConnections,
  type ConnectionLimits,
} from '../../src/streams/bounded-connections.ts';

const limits: ConnectionLimits = {
  connections: 4,
  perAddress: 4,
  headersMs: 10_000,
  requestMs: 20_000,
  keepAliveMs: 90_000,
  stalledMs: 60_000,
  streamMs: 3_600_000,
};

interface Bounded {
  readonly clock: FakeClock;
  readonly connections: BoundedConnections;
  readonly open: () => Promise<Socket>;
  /** Answers of requests for `/wait`, by ending them. */
  readonly waiting: (() => void)[];
}

let server: Server;
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  server.close();
});

async function bounded(more: Partial<ConnectionLimits> = {}): Promise<Bounded> {
  const clock = new FakeClock(0);
  const connections = new BoundedConnections({ ...limits, ...more }, clock);
  const waiting: (() => void)[] = [];
  server = createServer((request, response) => {
    if (request.url === '/wait')
      waiting.push(() => {
        response.end('waited');
      });
    else response.end('ok');
  });
  connections.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    clients.push(socket);
    socket.on('error', () => undefined);
    const accepted = once(server, 'connection');
    await once(socket, 'connect');
    await accepted;
    return socket.resume();
  };
  return { clock, connections, open, waiting };
}

const head = 'GET / HTTP/1.1\r\nHost: x\r\n';
const ended = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : once(socket, 'close');
const answered = async (socket: Socket, request = `${head}\r\n`): Promise<string> => {
  const answer = once(socket, 'data');
  socket.write(request);
  return String((await answer)[0]);
};
const received = async (socket: Socket, text: string): Promise<void> => {
  const data = once(server, 'request');
  socket.write(text);
  await data;
};

describe('numbers', () => {
  test('the connection that has waited longest gives way, an unused one before a used one', async () => {
    const { open, connections } = await bounded();
    const used = await open();
    expect(await answered(used)).toContain('200 OK');
    const [first, second, third] = [await open(), await open(), await open()];
    const fifth = await open();
    await ended(first);
    expect(connections.size).toBe(4);
    expect(await answered(fifth)).toContain('200 OK');
    expect([used, second, third].map(({ closed }) => closed)).toEqual([false, false, false]);
  });

  test('a connection that is being answered stays, and a new one is turned away when all are', async () => {
    const { open, waiting, connections } = await bounded({ connections: 2 });
    const busy = [await open(), await open()];
    for (const socket of busy) await received(socket, 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
    await ended(await open());
    expect(connections.size).toBe(2);
    const texts = Promise.all(busy.map(async (socket) => String((await once(socket, 'data'))[0])));
    for (const end of waiting) end();
    for (const text of await texts) expect(text).toContain('waited');
  });

  test('an address gives way to itself before the total is reached', async () => {
    const { open, connections } = await bounded({ connections: 100, perAddress: 2 });
    const [first] = [await open(), await open()];
    await open();
    await ended(first);
    expect(connections.size).toBe(2);
  });

  test('connections that wait are fewer than those that are answered', async () => {
    const { open, connections } = await bounded({ connections: 100, perAddress: 100, waiting: 1 });
    const busy = await open();
    await received(busy, 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
    const first = await open();
    await open();
    await ended(first);
    expect([connections.size, busy.closed]).toEqual([2, false]);
  });

  test.for([
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    [undefined, ''],
  ] as const)('%s is counted as %s', ([address, group]) => {
    expect(addressGroup(address)).toBe(group);
  });
});

describe('times', () => {
  test.for([
    ['nothing', ''],
    ['half a head', head],
  ])('a connection that sends %s ends when the time for headers is over', async ([, sent]) => {
    const { open, clock, connections } = await bounded();
    const socket = await open();
    socket.write(sent ?? '');
    await clock.advance(9_000);
    expect(connections.size).toBe(1);
    await clock.advance(2_000);
    await ended(socket);
    expect(connections.size).toBe(0);
  });

  test('so does one whose second head does not end', async () => {
    const { open, clock, connections } = await bounded();
    const socket = await open();
    await answered(socket);
    await clock.advance(60_000);
    expect(connections.size).toBe(1); // an idle one may stay
    const came = new Promise<void>((resolve) => {
      server.once('connection', () => undefined);
      socket.write(head, () => {
        resolve();
      });
    });
    await came;
    await answered(await open()); // the server has read what was sent before
    await clock.advance(12_000);
    await ended(socket);
  });

  test('and one whose body does not, even if it has been answered', async () => {
    const { open, clock } = await bounded();
    const socket = await open();
    await answered(socket, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx');
    await clock.advance(21_000);
    await ended(socket);
  });

  test('an answer that takes long is waited for', async () => {
    const { open, clock, waiting } = await bounded();
    const socket = await open();
    await received(socket, 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
    await clock.advance(7_200_000);
    const text = once(socket, 'data');
    waiting[0]?.();
    expect(String((await text)[0])).toContain('waited');
  });

  test('a client that takes nothing of its answer is let go', async () => {
    const { open } = await bounded({ stalledMs: 200 });
    const socket = await open();
    socket.pause();
    server.removeAllListeners('request');
    const served = new Promise<boolean>((resolve) => {
      server.on('request', (_message, response) => {
        response.end(Buffer.alloc(64 * 1024 * 1024));
        response.once('close', () => {
          resolve(response.writableFinished);
        });
      });
    });
    socket.write(`${head}\r\n`);
    expect(await served).toBe(false);
  });

  test('a quiet answer with nothing to send is not', async () => {
    const { open, waiting } = await bounded({ stalledMs: 50 });
    const socket = await open();
    await received(socket, 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
    const quiet = once(server, 'timeout');
    await quiet;
    await once(server, 'timeout');
    const text = once(socket, 'data');
    waiting[0]?.();
    expect(String((await text)[0])).toContain('waited');
  });
});

test('requests sent ahead are not read without end', async () => {
  const { open, waiting } = await bounded();
  const socket = await open();
  const one = 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n';
  await received(socket, one);
  let taken = 0;
  server.on('request', () => taken++);
  for (let i = 0; i < 100; i++) socket.write(one.repeat(1000));
  await new Promise((resolve) => server.once('request', resolve));
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toBeLessThan(20_000);
  expect(waiting.length).toBeLessThan(20_000);
});
