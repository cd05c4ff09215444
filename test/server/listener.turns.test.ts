import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/logger.ts';
import { Listener } from '../../src/server/listener.ts';
import type { Reply, ReplySink } from '../../src/server/reply.ts';
import { mostAtOnce } from '../../src/streams/turns.ts';

const text = (body: string): Reply => ({ status: 200, headers: {}, body });
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const upgrading = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

/** What came to be handled, in that order; the test answers it. */
const handled: { readonly target: string; readonly answer: (reply: Reply) => void }[] = [];
let listener: Listener;
let socket: Socket;
let read: string;

async function send(bytes: string): Promise<void> {
  handled.length = 0;
  read = '';
  listener = new Listener({
    handle: ({ target }) =>
      new Promise((answer) => {
        handled.push({ target, answer });
      }),
    logger: silentLogger,
  });
  socket = connect(await listener.listen(0, '127.0.0.1'), '127.0.0.1');
  socket.on('data', (chunk: Buffer) => (read += chunk.toString('latin1')));
  socket.write(bytes);
}

afterEach(async () => {
  socket.destroy();
  await listener.close();
});

async function answer(index: number, reply: Reply): Promise<void> {
  await expect.poll(() => handled.length).toBeGreaterThan(index);
  handled[index]?.answer(reply);
}

test('an upgrade behind a request has its turn once that is answered', async () => {
  await send(get('/slow') + get('/stream', upgrading));
  await answer(0, text('first'));
  await answer(1, {
    ...text(''),
    upgrade: (duplex) => {
      duplex.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    },
  });
  await expect.poll(() => read).toMatch(/first[^]*HTTP\/1\.1 101 Switching Protocols/);
  expect(handled.map(({ target }) => target)).toEqual(['/slow', '/stream']);
});

test('an upgrade behind two requests that is answered like any other comes third', async () => {
  await send(get('/one') + get('/two') + get('/three', upgrading));
  await answer(1, text('second'));
  await answer(0, text('first'));
  await answer(2, text('third'));
  await once(socket, 'close');
  expect(read).toMatch(/first[^]*second[^]*third$/);
});

test('a long answer to who offers an upgrade comes whole', async () => {
  const piece = Buffer.alloc(64 * 1024, 'x');
  await send(get('/long', upgrading));
  const stream = async (sink: ReplySink): Promise<void> => {
    for (let i = 0; i < 64; i++) await sink.write(piece);
  };
  await answer(0, { status: 200, headers: {}, body: { stream, otherwise: () => text('failed') } });
  await once(socket, 'close');
  expect(read.split('x').length - 1).toBeGreaterThanOrEqual(64 * piece.length);
});

test('an upgrade behind a request that ends the connection is not looked at', async () => {
  await send(get('/last', 'Connection: close\r\n') + get('/stream', upgrading));
  await answer(0, text('first'));
  await once(socket, 'close');
  expect(read).toMatch(/first$/);
  expect(handled).toHaveLength(1);
});

test('an upgrade whose client goes while it waits is not looked at', async () => {
  await send(get('/slow') + get('/stream', upgrading));
  await expect.poll(() => handled.length).toBe(1);
  socket.destroy();
  await answer(0, text('first'));
  await listener.close();
  expect(handled).toHaveLength(1);
});

test('a request that Node does not read is refused after those before it', async () => {
  await send(get('/slow') + 'this is no request\r\n\r\n');
  await answer(0, text('first'));
  await once(socket, 'close');
  expect(read).toMatch(/first[^]*400 Bad Request$/);
  expect(handled).toHaveLength(1);
});

test('what fails in one connection ends that one alone', async () => {
  await send(get('/broken'));
  await answer(0, { ...text(''), headers: { 'not a header': 'x' } });
  await once(socket, 'close');
  expect(read).toBe('');
});

test('of requests sent ahead a few are served at a time, and all are answered in order', async () => {
  const paths = Array.from({ length: 40 }, (_unused, i) => `/${i}`);
  await send(paths.map((path) => get(path)).join(''));
  let most = 0;
  for (let i = 0; i < paths.length; i++) {
    await answer(i, text(`<${i}>`));
    most = Math.max(most, handled.length - i);
  }
  expect(most).toBe(mostAtOnce);
  await expect.poll(() => read.match(/<\d+>/g)).toEqual(paths.map((path) => `<${path.slice(1)}>`));
});
