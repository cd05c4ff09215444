import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { duplexPair } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Reply } from '../../src/server/reply.ts';
import type { ServerHost } from '../../src/server/host.ts';
import type { KubeletServer, KubeletServerOptions } from '../../src/server/kubelet-server.ts';
import { Listener } from '../../src/server/listener.ts';
import {
  controlFrame,
  dataHead,
  frameType,
  goAway,
  rstStream,
  synStream,
} from '../../src/streams/spdy/frames.ts';
import { HeaderEncoder } from '../../src/streams/spdy/header-block.ts';
import { seeded } from '../support/chaos-proxy.ts';
import { mutate, pick } from '../support/mutate.ts';
import { ask, hostWith, startServer } from './support.ts';

/** With a number in `ATTACK_SEED` the same noise comes again. */
const seed = Number(process.env['ATTACK_SEED'] ?? randomInt(2 ** 31));
console.log(`noise: ATTACK_SEED=${seed}`);

let server: KubeletServer;
afterEach(() => server.close());

const secret = `secret-${randomUUID()}`;

const echo: NonNullable<ServerHost['exec']> = async (_container, _command, { stdin, stdout }) => {
  stdout?.write('begun\n');
  if (stdin && stdout) await pipeline(stdin, stdout, { end: false });
  return 0;
};
/** A host that notes in `reached` what of it was asked for. */
const host = (reached: string[] = []): ServerHost =>
  hostWith({
    readLog: async (_log, sink) => {
      reached.push('log');
      await sink(Buffer.from(secret));
    },
    configz: () => {
      reached.push('configz');
      return { secret };
    },
    run: async () => {
      reached.push('run');
      return { exitCode: 0, stdout: Buffer.from(secret), stderr: Buffer.alloc(0) };
    },
    exec: (...call) => {
      reached.push('exec');
      return echo(...call);
    },
    attach: async (container, io, signal) => {
      await echo(container, [], io, signal);
    },
    portForward: async (_uid, _port, stream) => {
      await pipeline(stream, stream);
    },
  });

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What the process holds after all that can go has gone, bytes. */
async function held(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const mostGrowth = 48 * 1024 * 1024;

/** Runs `one` for each number, `width` at a time. */
async function inParallel(count: number, width: number, one: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

const upgrade = 'Connection: Upgrade\r\n';
const requests = [
  'GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\nGET /configz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n',
  `GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\nPOST /exec/ns/web/c?command=ls HTTP/1.1\r\nHost: x\r\n${upgrade}Upgrade: SPDY/3.1\r\n\r\n`,
  'GET /configz HTTP/1.1\r\nHost: node-a:10250\r\nAuthorization: Bearer good\r\nAccept: */*\r\nUser-Agent: kubectl/v1.36.0\r\n\r\n',
  'GET /containerLogs/ns/web/c?tailLines=5&timestamps=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nAccept-Encoding: gzip\r\n\r\n',
  'POST /run/ns/web/c?cmd=ls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Length: 5\r\n\r\nhello',
  'POST /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  `POST /exec/ns/web/c?command=ls&output=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n${upgrade}Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n`,
  `GET /exec/ns/web/c?command=ls&output=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n${upgrade}Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n`,
  'GET /logs/../../etc/passwd HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n',
].map((text) => Buffer.from(text, 'latin1'));

/** Only one who has this may come in, and see the node's health. */
const allowed: Pick<KubeletServerOptions, 'authenticators' | 'authorizer'> = {
  authenticators: [
    {
      authenticate: async ({ headers }) =>
        headers.authorization === 'Bearer good' ? { name: 'good', groups: [] } : undefined,
    },
  ],
  authorizer: { authorize: async ({ subresource }) => subresource === 'healthz' },
};

// without TLS, which would be most of the time; `attack.test.ts` sends noise over TLS
test(
  '4,000 mutated requests of one who may see the health alone get nothing else',
  { timeout: 90_000 },
  async () => {
    const reached: string[] = [];
    server = await startServer(host(reached), allowed);
    const chance = seeded(seed);
    const listener = new Listener({
      handle: async (request) => {
        // some answers come so late that the next request on the connection is here
        if (chance() < 0.2) await systemClock.sleep(chance() * 5);
        return server.handle(request);
      },
      logger: silentLogger,
    });
    const port = await listener.listen(0, '127.0.0.1');
    const before = await held();
    let healthy = 0;
    await inParallel(4000, 12, async () => {
      const sent = mutate(pick(chance, requests), requests, chance);
      const socket = connect({ host: '127.0.0.1', port });
      socket.on('error', () => undefined);
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
      const over = once(socket, 'close');
      socket.end(sent);
      await over;
      if (text.includes('200 OK')) healthy++;
      expect(text, JSON.stringify(sent.toString('latin1'))).not.toContain(secret);
      expect(text).not.toContain('101 Switching Protocols');
    });
    expect(reached).toEqual([]);
    expect(healthy).toBeGreaterThan(50);
    expect((await held()) - before).toBeLessThan(mostGrowth);
    await listener.close();
  },
);

/** What is played on one upgraded connection. */
interface Conversation {
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** Plays a conversation and goes away in the middle of it; the server must let go of the connection. */
async function play({ target, headers, bytes }: Conversation): Promise<boolean> {
  const gone = new AbortController();
  const method = headers['upgrade'] === 'websocket' ? 'GET' : 'POST';
  const user = { commonName: 'admin', organizations: ['system:masters'] };
  const reply: Reply = await server.handle({ method, target, headers, peer: user, signal: gone.signal });
  if (!reply.upgrade) return false;
  const [mine, theirs] = duplexPair();
  for (const side of [mine, theirs]) side.on('error', () => undefined);
  mine.resume();
  theirs.once('close', () => {
    gone.abort();
  });
  const served = Promise.resolve(reply.upgrade(theirs, Buffer.alloc(0))).catch(() => {
    theirs.destroy(); // as the listener does
  });
  mine.write(bytes);
  await new Promise((resolve) => setImmediate(resolve));
  mine.destroy();
  theirs.destroy();
  const late = new AbortController();
  const lateness = systemClock.sleep(5000, late.signal).then(
    () => 'late',
    () => 'in time',
  );
  expect(await Promise.race([served, lateness]), 'the server lets go').not.toBe('late');
  late.abort();
  return true;
}

async function playAll(count: number, make: (chance: () => number) => Conversation): Promise<void> {
  server = await startServer(host());
  const chance = seeded(seed);
  const before = await held();
  let upgraded = 0;
  await inParallel(count, 8, async () => {
    if (await play(make(chance))) upgraded++;
  });
  expect(upgraded).toBe(count);
  expect((await ask(server, '/healthz')).body).toBe('ok');
  expect((await held()) - before).toBeLessThan(mostGrowth);
}

/** A client's frame, masked. */
function frame(opcode: number, payload: Buffer, fin = true): Buffer {
  const mask = Buffer.from([7, 3, 9, 1]);
  const long = payload.length >= 126;
  const head = Buffer.alloc(long ? 4 : 2);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = 0x80 | (long ? 126 : payload.length);
  if (long) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0))]);
}

const channel = (number: number, text: string): Buffer =>
  Buffer.concat([Buffer.from([number]), Buffer.from(text)]);
const frames = [
  frame(2, channel(0, 'hello\n')),
  frame(2, channel(0, 'x'.repeat(500))),
  frame(2, channel(4, '{"Width":80,"Height":24}')),
  frame(2, Buffer.from([255, 0])),
  frame(1, Buffer.from('0aGVsbG8=')),
  frame(2, channel(0, 'first half'), false),
  frame(0, Buffer.from('second half')),
  frame(9, Buffer.from('ping')),
  frame(8, Buffer.from([3, 232])),
];

test('3,000 mutated WebSocket conversations end at worst', { timeout: 60_000 }, async () => {
  const targets = [
    ['/exec/ns/web/c?command=cat&input=1&output=1', 'v5.channel.k8s.io'],
    ['/exec/ns/web/c?command=cat&input=1&output=1&tty=1', 'v4.base64.channel.k8s.io'],
    ['/attach/ns/web/c?input=1&output=1', 'v4.channel.k8s.io'],
    ['/portForward/ns/web?port=80', 'v4.channel.k8s.io'],
    ['/portForward/ns/web', 'SPDY/3.1+portforward.k8s.io'],
  ] as const;
  await playAll(3000, (chance) => {
    const [target, protocol] = pick(chance, targets);
    const whole = Buffer.concat(
      Array.from({ length: 1 + Math.floor(chance() * 6) }, () => pick(chance, frames)),
    );
    return {
      target,
      headers: {
        ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
        ...{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-protocol': protocol },
      },
      bytes: mutate(whole, frames, chance),
    };
  });
});

const data = (id: number, text: string, fin = false): Buffer =>
  Buffer.concat([dataHead(id, text.length, fin), Buffer.from(text)]);

/** A whole conversation as a client has it: streams are opened, written to and ended. */
function spdyConversation(types: readonly string[], more: Readonly<Record<string, string>>): Buffer {
  const encoder = new HeaderEncoder();
  const opened = types.map((streamtype, i) =>
    synStream(2 * i + 1, encoder.encode(new Map(Object.entries({ streamtype, ...more })))),
  );
  return Buffer.concat([
    ...opened,
    controlFrame(frameType.ping, 0, Buffer.from([0, 0, 0, 1])),
    data(3, 'hello'),
    controlFrame(frameType.settings, 0, Buffer.alloc(4)),
    data(3, 'x'.repeat(700), true),
    data(1, '', true),
    rstStream(5, 5),
    goAway(0),
  ]);
}

test('3,000 mutated SPDY conversations end at worst', { timeout: 60_000 }, async () => {
  const command = spdyConversation(['error', 'stdin', 'stdout'], {});
  const terminal = spdyConversation(['error', 'stdin', 'stdout', 'resize'], {});
  const forward = spdyConversation(['error', 'data'], { port: '80', requestid: '0' });
  const all = [command, terminal, forward];
  const targets = [
    ['/exec/ns/web/c?command=cat&input=1&output=1', 'v4.channel.k8s.io', command],
    ['/exec/ns/web/c?command=cat&input=1&output=1&tty=1', 'v3.channel.k8s.io', terminal],
    ['/attach/ns/web/c?input=1&output=1', 'v4.channel.k8s.io', command],
    ['/portForward/ns/web', 'portforward.k8s.io', forward],
  ] as const;
  await playAll(3000, (chance) => {
    const [target, protocol, whole] = pick(chance, targets);
    return {
      target,
      headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol },
      bytes: mutate(whole, all, chance),
    };
  });
});
