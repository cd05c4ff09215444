import { createServer } from 'node:net';
import { once } from 'node:events';
import { duplexPair, PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { emptyPodStatus } from '../../../src/provider/runtime-pod.ts';
import { processPowers } from '../../../src/providers/process/powers.ts';
import { makeBench, type Bench } from './harness.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await makeBench();
});
afterEach(async () => {
  await bench.end();
});

const never = new AbortController().signal;
const ref = (id: string) => ({
  podUid: 'uid-1',
  namespace: 'default',
  pod: 'pod',
  container: 'main',
  id: `process://${id}`,
});

test('exec joins its streams and gives the exit code', async () => {
  const id = await bench.run(['sleep', '1000']);
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const io = { stdin, stdout, stderr, tty: false };
  const code = processPowers(bench.runtime).exec(ref(id), ['sh', '-c', 'cat; echo e >&2; exit 6'], io, never);
  stdin.end('hello');
  expect(await code).toBe(6);
  stdout.end();
  stderr.end();
  expect([await text(stdout), await text(stderr)]).toEqual(['hello', 'e\n']);
});

test('exec with a terminal has one, in the size of the client', async () => {
  const id = await bench.run(['sleep', '1000']);
  const stdout = new PassThrough();
  async function* sizes() {
    yield { width: 111, height: 42 };
  }
  const io = { stdout, tty: true, resize: sizes() };
  const code = await processPowers(bench.runtime).exec(
    ref(id),
    ['sh', '-c', 'tty; stty size; exit 9'],
    io,
    never,
  );
  stdout.end();
  expect(await text(stdout)).toMatch(/^\/dev\/pts\/\d+\r\n42 111\r\n/);
  expect(code).toBe(9);
});

test('exec ends with its client', async () => {
  const id = await bench.run(['sleep', '1000']);
  const client = new AbortController();
  const stdout = new PassThrough();
  const code = processPowers(bench.runtime).exec(
    ref(id),
    ['sh', '-c', 'echo up; sleep 1000'],
    { stdout, tty: false },
    client.signal,
  );
  await once(stdout, 'data');
  client.abort();
  expect(await code).toBe(137);
});

test("attach with stdinOnce feeds the container and ends its input with the client's", async () => {
  const id = await bench.run(['sh', '-c', 'read line; echo "got $line"; cat'], {
    stdin: true,
    stdinOnce: true,
  });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const attached = processPowers(bench.runtime).attach(ref(id), { stdin, stdout, tty: false }, never);
  stdin.end('one\ntwo\n');
  await attached;
  stdout.end();
  expect(await text(stdout)).toBe('got one\ntwo\n');
  expect((await bench.exited(id)).exitCode).toBe(0);
});

/** A client that reads nothing until it is let go. */
function slowClient() {
  const going = Promise.withResolvers<undefined>();
  const heard = { bytes: 0, zeros: 0, most: 0, last: '' };
  const client = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      heard.most = Math.max(heard.most, client.writableLength);
      void going.promise.then(() => {
        heard.bytes += chunk.length;
        heard.zeros += chunk.filter((byte) => byte === 0).length;
        heard.last = (heard.last + chunk.toString('latin1')).slice(-8);
        done();
      });
    },
  });
  return { client, heard, letGo: going.resolve };
}

// the container writes and ends without waiting for the client, which may take a moment
test.for([
  { says: 'hears all that it wrote', blocks: 40, least: 2_621_448, most: 2_621_449 },
  { says: 'goes on with what is still kept of much', blocks: 512, least: 1, most: 33_554_440 },
])(
  'who attaches and does not read holds up no container, fills no memory, and $says',
  async ({ blocks, least, most }) => {
    const script = `read line; head -c ${blocks * 65_536} /dev/zero | tr '\\0' x; echo the end`;
    const id = await bench.run(['sh', '-c', script], { stdin: true, stdinOnce: true });
    const { client, heard, letGo } = slowClient();
    const stdin = new PassThrough();
    const attached = processPowers(bench.runtime).attach(
      ref(id),
      { stdin, stdout: client, tty: false },
      never,
    );
    stdin.end('go\n');
    expect((await bench.exited(id)).exitCode).toBe(0);
    letGo(undefined);
    await attached;
    client.end();
    await finished(client);
    expect(heard.most).toBeLessThan(200_000);
    expect(heard).toMatchObject({ zeros: 0, last: 'the end\n' });
    expect(heard.bytes).toBeGreaterThanOrEqual(least);
    expect(heard.bytes).toBeLessThan(most);
  },
);

test('who attaches, reads nothing and goes leaves nothing behind, also when the container has ended', async () => {
  const id = await bench.run(['sh', '-c', 'read line; head -c 1000000 /dev/zero'], {
    stdin: true,
    stdinOnce: true,
  });
  const [{ client }, stdin, gone] = [slowClient(), new PassThrough(), new AbortController()];
  const attached = processPowers(bench.runtime).attach(
    ref(id),
    { stdin, stdout: client, tty: false },
    gone.signal,
  );
  stdin.end('go\n');
  await bench.exited(id);
  gone.abort();
  await attached;
  expect(client.listenerCount('drain')).toBe(0);
});

test('a port of the pod is a port of the loopback address', async () => {
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const [near, far] = duplexPair();
  const done = processPowers(bench.runtime).portForward(
    emptyPodStatus({ uid: '', name: '', namespace: '' }),
    port,
    far,
    never,
  );
  near.end('ping');
  expect(await text(near)).toBe('ping');
  await done;
  server.close();
});
