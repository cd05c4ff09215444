/**
 * Measures the kubelet API over TLS on loopback, client and server in one process: logs, exec, port-forward, and the memory of 500 open
 * streams.
 */
import { once } from 'node:events';
import { request } from 'node:https';
import { Authority, hour } from '../src/pki/certificates.ts';
import type { Pod } from '../src/kube/types.ts';
import { alwaysAllow } from '../src/server/access.ts';
import type { ServerHost } from '../src/server/host.ts';
import { KubeletServer } from '../src/server/kubelet-server.ts';
import type { SpdyConnection } from '../src/streams/spdy/connection.ts';
import { openStream, spdyClient } from '../test/support/spdy-client.ts';

const ca = Authority.create('bench', Date.now());
const admin = ca.issue({
  subject: { commonName: 'admin' },
  notBefore: Date.now() - hour,
  notAfter: Date.now() + hour,
  usages: ['client auth'],
});
const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [{ name: 'c' }] },
  status: {
    containerStatuses: [
      {
        name: 'c',
        containerID: 'b://1',
        image: '',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: running,
      },
    ],
  },
};
const megabytes = 200;
const line = Buffer.alloc(1024, 'x');

const host: ServerHost = {
  nodeName: 'bench',
  pods: () => [pod],
  podByName: () => pod,
  podStatus: () => undefined,
  runningPods: async () => [
    {
      uid: 'u',
      name: 'p',
      namespace: 'ns',
      containers: [{ id: 'b://1', name: 'c', state: 'running' }],
      sandboxes: [],
    },
  ],
  syncLoopFault: () => undefined,
  readLog: async (_log, sink) => {
    for (let i = 0; i < megabytes * 1024; i++) await sink(line);
  },
  exec: async (_container, _command, { stdin, stdout }) => {
    if (stdin) for await (const _chunk of stdin);
    stdout?.write('done\n');
    return 0;
  },
  portForward: async (_pod, _port, stream) => {
    for await (const chunk of stream) if (!stream.write(chunk)) await once(stream, 'drain');
    stream.end();
  },
};

const server = new KubeletServer({
  host,
  authorizer: alwaysAllow,
  clientCa: ca.cert,
  address: '127.0.0.1',
  port: 0,
});
await server.listen();
const where = {
  host: '127.0.0.1',
  port: server.port,
  rejectUnauthorized: false,
  agent: false as const,
  ...admin,
};

const spdy = (path: string, protocol?: string): Promise<SpdyConnection> =>
  spdyClient({ port: server.port, path, client: admin, ...(protocol !== undefined && { protocol }) });

async function drained(stream: AsyncIterable<unknown>): Promise<number> {
  let bytes = 0;
  for await (const chunk of stream) bytes += (chunk as Buffer).length;
  return bytes;
}

/** Runs `work` and prints its rate per second and its CPU time. */
async function measured(
  name: string,
  unit: string,
  amount: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const each = ((user + system) / 1000 / amount).toFixed(2);
  console.log(
    `${name.padEnd(28)} ${(amount / seconds).toFixed(0).padStart(6)} ${unit}/s   ${each} ms CPU a ${unit}, both ends`,
  );
}

await measured('log, 1 KiB lines', 'MB', megabytes, async () => {
  const sent = request({ ...where, path: '/containerLogs/ns/p/c' });
  sent.end();
  const [message] = (await once(sent, 'response')) as [AsyncIterable<unknown>];
  await drained(message);
});

await measured('exec round trips', 'exec', 200, async () => {
  for (let i = 0; i < 200; i++) {
    const connection = await spdy('/exec/ns/p/c?command=x&output=1');
    const [error, stdout] = await Promise.all([
      openStream(connection, 'error'),
      openStream(connection, 'stdout'),
    ]);
    await Promise.all([drained(error), drained(stdout)]);
  }
});

await measured('exec stdin', 'MB', megabytes, async () => {
  const connection = await spdy('/exec/ns/p/c?command=x&input=1&output=1');
  const error = await openStream(connection, 'error');
  const stdin = await openStream(connection, 'stdin');
  const stdout = await openStream(connection, 'stdout');
  const chunk = Buffer.alloc(65_536);
  for (let i = 0; i < megabytes * 16; i++) if (!stdin.write(chunk)) await once(stdin, 'drain');
  stdin.end();
  await Promise.all([drained(error), drained(stdout)]);
});

await measured('port-forward, there and back', 'MB', megabytes, async () => {
  const connection = await spdy('/portForward/ns/p', 'portforward.k8s.io');
  const headers = { port: '1', requestid: '1' };
  const error = await openStream(connection, 'error', headers);
  error.end();
  const data = await openStream(connection, 'data', headers);
  const got = drained(data);
  const chunk = Buffer.alloc(65_536);
  for (let i = 0; i < megabytes * 16; i++) if (!data.write(chunk)) await once(data, 'drain');
  data.end();
  await got;
  connection.close();
});

globalThis.gc?.();
const before = process.memoryUsage().rss;
const connections: SpdyConnection[] = [];
for (let i = 0; i < 500; i++) {
  const connection = await spdy('/exec/ns/p/c?command=x&input=1&output=1');
  for (const type of ['error', 'stdin', 'stdout']) await openStream(connection, type);
  connections.push(connection);
}
globalThis.gc?.();
const held = (process.memoryUsage().rss - before) / 1024 / 500;
console.log(`500 open execs: ${held.toFixed(0)} KiB each, both ends`);
for (const connection of connections) connection.close();
await server.close();
process.exit(0);
