import { createServer } from 'node:net';
import { once } from 'node:events';
import { duplexPair, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
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
