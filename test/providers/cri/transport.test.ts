import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { encode } from '../../../src/providers/cri/codec.ts';
import { framed, framePrefixBytes, MessageSplitter } from '../../../src/providers/cri/grpc-messages.ts';
import { connectCri, type CriRuntime } from '../../../src/providers/cri/index.ts';

type Headers = Readonly<Record<string, unknown>>;

let dir = '';
let socket = '';
let server: Http2Server;
let sessions: ServerHttp2Session[];
let heard: Headers[];
/** What the runtime does with a call. */
let answer: (stream: ServerHttp2Stream, headers: Headers) => void;
let runtime: CriRuntime;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'pt-transport-'));
  socket = join(dir, 'cri.sock');
  [sessions, heard] = [[], []];
  answer = (stream) => {
    tell(stream, [version('fake')]);
  };
  await listen();
  runtime = connectCri(socket, { clock: systemClock });
});
afterEach(async () => {
  await runtime.close();
  await stop();
  rmSync(dir, { recursive: true });
});

async function listen(): Promise<void> {
  server = createServer();
  server.on('session', (session) => {
    session.on('error', () => undefined);
    sessions.push(session);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: Headers) => {
    stream.on('error', () => undefined);
    heard.push(headers);
    answer(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
}

async function stop(): Promise<void> {
  for (const session of sessions) session.destroy();
  await new Promise((resolve) => server.close(resolve));
}

const version = (runtimeName: string): Buffer =>
  framed(encode('VersionResponse', { runtimeName }, framePrefixBytes));
const ok = { 'grpc-status': '0' };

/** A whole answer: pieces of data, then trailers. */
function tell(stream: ServerHttp2Stream, pieces: readonly Buffer[], trailers: Headers = ok): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    stream.sendTrailers(trailers as Record<string, string>);
  });
  for (const piece of pieces) stream.write(piece);
  stream.end();
}

/** Only headers, as servers refuse. */
const refuse = (stream: ServerHttp2Stream, headers: Headers): void => {
  stream.respond(headers as Record<string, string>, { endStream: true });
};

test('a call carries its path and deadline; one connection serves all of them', async () => {
  expect(await runtime.version({})).toEqual({ runtimeName: 'fake' });
  await Promise.all([runtime.version({}), runtime.runPodSandbox({}).catch(() => undefined)]);
  expect(heard[0]).toMatchObject({
    ':method': 'POST',
    ':path': '/runtime.v1.RuntimeService/Version',
    ':authority': 'localhost',
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': '120000m',
  });
  expect(heard.map((headers) => headers['grpc-timeout'])).toContain('240000m');
  expect(sessions).toHaveLength(1);
});

test('a message may come in any pieces', async () => {
  const whole = version('x'.repeat(100_000));
  answer = (stream) => {
    tell(stream, [whole.subarray(0, 3), whole.subarray(3, 9), whole.subarray(9)]);
  };
  expect((await runtime.version({})).runtimeName).toHaveLength(100_000);
});

test.for([
  [
    { 'grpc-status': '5', 'grpc-message': 'no%20pod%3A 100%25 %C3%A4' },
    'NotFound desc = no pod: 100% \u00e4',
  ],
  [{ 'grpc-status': '2', 'grpc-message': '100% %C3%A4 %zz' }, 'Unknown desc = 100% \u00e4 %zz'],
  [{ 'grpc-status': '13' }, 'Internal desc = '],
] as const)('the status %o of trailers is told, with or without an answer', async ([trailers, text]) => {
  for (const pieces of [[], [version('half')]]) {
    answer = (stream) => {
      tell(stream, pieces, trailers);
    };
    await expect(runtime.version({})).rejects.toThrow(`rpc error: code = ${text}`);
  }
  answer = (stream) => {
    refuse(stream, { ':status': 200, ...trailers });
  };
  await expect(runtime.version({})).rejects.toThrow(`rpc error: code = ${text}`);
});

test.for([
  [404, 'unimplemented', 'Unimplemented'],
  [503, 'unavailable', 'Unavailable'],
  [418, 'internal', 'Unknown'],
] as const)('a server that speaks HTTP %i only is %s', async ([status, code, name]) => {
  answer = (stream) => {
    refuse(stream, { ':status': status });
  };
  await expect(runtime.version({})).rejects.toMatchObject({
    code,
    message: `rpc error: code = ${name} desc = unexpected HTTP status code received from server: ${status}`,
  });
});

test.for([
  [7, 'unavailable', /RST_STREAM with error code: 7$/],
  [2, 'internal', /RST_STREAM with error code: 2$/],
  [0, 'internal', /without sending trailers$/],
] as const)('a stream that is reset with %i is %s', async ([rst, code, message]) => {
  answer = (stream) => {
    if (rst === 0) stream.respond({ ':status': 200 });
    stream.close(rst);
  };
  await expect(runtime.version({})).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message) as string,
  });
});

test('success without an answer is a fault, and so is an answer that is no message', async () => {
  answer = (stream) => {
    tell(stream, []);
  };
  await expect(runtime.version({})).rejects.toThrow('code = Internal desc = cardinality violation');
  answer = (stream) => {
    tell(stream, [framed(Buffer.from([0, 0, 0, 0, 0, 0x12, 0x09, 0x41]))]);
  };
  await expect(runtime.version({})).rejects.toThrow('protobuf message ends inside a field');
  answer = (stream) => {
    tell(stream, [Buffer.from([1, 0, 0, 0, 0])]);
  };
  await expect(runtime.version({})).rejects.toThrow('compressed');
});

test('a message that is too large is refused before it is read', async () => {
  answer = (stream) => {
    stream.respond({ ':status': 200 });
    stream.write(Buffer.from([0, 0x01, 0, 0, 0x01])); // 16 MiB and one byte
  };
  await expect(runtime.version({})).rejects.toMatchObject({
    code: 'resource_exhausted',
    message:
      'rpc error: code = ResourceExhausted desc = grpc: received message larger than max (16777217 vs. 16777216)',
  });
});

test('a call ends at its deadline, and the runtime is told', async () => {
  const clock = new FakeClock();
  const other = connectCri(socket, { clock });
  const aborted = Promise.withResolvers<number | undefined>();
  const came = Promise.withResolvers<undefined>();
  answer = (stream) => {
    stream.on('close', () => {
      aborted.resolve(stream.rstCode);
    });
    came.resolve(undefined);
  };
  const call = other.version({}, { timeoutMs: 500 });
  const failed = expect(call).rejects.toMatchObject({
    code: 'deadline_exceeded',
    message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  });
  await came.promise;
  await clock.advance(500);
  await failed;
  expect(await aborted.promise).toBe(8);
  await other.close();
});

test('a call whose signal has aborted is not made; one under way is cancelled', async () => {
  await expect(runtime.version({}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'cancelled',
    message: 'rpc error: code = Canceled desc = context canceled',
  });
  expect(heard).toEqual([]);
  const stop = new AbortController();
  answer = () => {
    stop.abort();
  };
  await expect(runtime.version({}, { signal: stop.signal })).rejects.toMatchObject({ code: 'cancelled' });
});

test('a runtime that dies under a call is unavailable; when it is back, calls go on', async () => {
  answer = () => {
    for (const session of sessions) session.socket.destroy();
  };
  await expect(runtime.version({})).rejects.toMatchObject({
    code: 'unavailable',
    message: 'rpc error: code = Unavailable desc = error reading from server: EOF',
  });
  await stop();
  await expect(runtime.version({})).rejects.toMatchObject({ code: 'unavailable' });
  answer = (stream) => {
    tell(stream, [version('back')]);
  };
  await listen();
  expect(await runtime.version({})).toEqual({ runtimeName: 'back' });
});

test('a runtime that says goodbye still answers what it was asked; later calls make a new connection', async () => {
  answer = (stream) => {
    stream.session?.goaway(0);
    setImmediate(() => {
      tell(stream, [version('last')]);
    });
  };
  expect(await runtime.version({})).toEqual({ runtimeName: 'last' });
  answer = (stream) => {
    tell(stream, [version('new')]);
  };
  expect(await runtime.version({})).toEqual({ runtimeName: 'new' });
  expect(sessions).toHaveLength(2);
});

test('closing ends what is under way, in the words of a Go client', async () => {
  answer = () => {
    void runtime.close();
  };
  await expect(runtime.version({})).rejects.toMatchObject({
    code: 'cancelled',
    message: 'rpc error: code = Canceled desc = grpc: the client connection is closing',
  });
});

const event = (containerId: string): Buffer =>
  framed(encode('ContainerEventResponse', { containerId }, framePrefixBytes));

test('a stream gives what comes, and ends as the runtime says', async () => {
  answer = (stream) => {
    const two = Buffer.concat([event('a'), event('b')]);
    tell(stream, [two.subarray(0, 7), two.subarray(7)]);
  };
  const seen: unknown[] = [];
  for await (const one of runtime.getContainerEvents({})) seen.push(one.containerId);
  expect(seen).toEqual(['a', 'b']);
  answer = (stream) => {
    tell(stream, [event('c')], { 'grpc-status': '12', 'grpc-message': 'not here' });
  };
  const failing = (async () => {
    for await (const one of runtime.getContainerEvents({})) seen.push(one.containerId);
  })();
  await expect(failing).rejects.toMatchObject({ code: 'unimplemented' });
  expect(seen).toEqual(['a', 'b', 'c']);
});

test('a stream ends by its signal, by its reader, and with the runtime', async () => {
  const closed: Promise<unknown>[] = [];
  answer = (stream) => {
    closed.push(new Promise((resolve) => stream.on('close', resolve)));
    stream.respond({ ':status': 200 });
    stream.write(event('a'));
  };
  const stop = new AbortController();
  const cancelled = (async () => {
    for await (const _ of runtime.getContainerEvents({}, { signal: stop.signal })) stop.abort();
  })();
  await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' });
  for await (const _ of runtime.getContainerEvents({})) break;
  await Promise.all(closed);
  const lost = (async () => {
    for await (const _ of runtime.getContainerEvents({})) for (const session of sessions) session.destroy();
  })();
  await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
});

test('an idle connection does not keep a process alive, a call does', () => {
  const script = `
    const { connectCri } = await import('./src/providers/cri/index.ts');
    const { systemClock: clock } = await import('./src/base/clock.ts');
    const { createServer } = await import('node:http2');
    const server = createServer().unref();
    server.on('session', (session) => session.unref());
    server.on('stream', (stream) => setTimeout(() => stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true }), 100).unref());
    await new Promise((resolve) => server.listen(process.argv[1], resolve));
    const runtime = connectCri(process.argv[1], { clock });
    await runtime.version({}).catch((reason) => console.log(reason.code));
    await runtime.version({}).catch((reason) => console.log(reason.code));`;
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script, join(dir, 'own.sock')],
    { cwd: join(import.meta.dirname, '../../..'), encoding: 'utf8', timeout: 20_000 },
  );
  expect([stdout, status]).toEqual(['not_found\nnot_found\n', 0]);
});

test('messages are cut out of whatever comes', () => {
  const messages = new MessageSplitter();
  const three = Buffer.concat([event('a'), event(''), event('ccc')]);
  const found = [...three].flatMap((byte) => messages.push(Buffer.from([byte])).map((one) => one.length));
  expect(found).toEqual([3, 0, 5]);
  expect(messages.isWithin).toBe(false);
  expect(messages.push(three.subarray(0, 6))).toEqual([]);
  expect(messages.isWithin).toBe(true);
  expect(messages.push(three.subarray(6))).toHaveLength(3);
});
