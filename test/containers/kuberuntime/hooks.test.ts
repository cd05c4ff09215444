import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { HookRunner, type HookRunnerDeps } from '../../../src/containers/kuberuntime/hooks.ts';

const signal = new AbortController().signal;
const container = { name: 'main', ports: [{ name: 'web', containerPort: 8080 }] };

const pod = { metadata: { name: 'web', namespace: 'ns', uid: 'u' } };
const runner = (overrides: Partial<HookRunnerDeps> = {}): HookRunner =>
  new HookRunner({
    runtime: {},
    clock: new FakeClock(),
    recorder: { event: () => undefined },
    podIps: async () => [],
    ...overrides,
  });

test.for([
  [
    'a runtime that cannot run commands',
    { exec: { command: ['stop'] } },
    'Exec lifecycle hook ([stop]) for Container "main" in Pod "web_ns(u)" failed - error: the runtime cannot run commands in containers, message: ""',
  ],
  [
    'a pod without an address',
    { httpGet: { port: 80, path: '/stop' } },
    'HTTP lifecycle hook (/stop) for Container "main" in Pod "web_ns(u)" failed - error: failed to find networking container: the pod has no IP',
  ],
  [
    'a handler that no kubelet runs',
    { tcpSocket: { port: 80 } },
    'Cannot run handler: invalid handler: &LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:&TCPSocketAction{Port:{0 80 },Host:,},Sleep:nil,}',
  ],
  [
    'a handler with the name of a port that no kubelet runs',
    { tcpSocket: { port: 'web', host: 'h' } },
    'TCPSocket:&TCPSocketAction{Port:{1 0 web},Host:h,},Sleep:nil,}',
  ],
  ['an empty handler', {}, '&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:nil,Sleep:nil,}'],
] as const)('%s is a failure that says so', async ([, handler, message]) => {
  await expect(runner().run({ pod, container, id: 't://main' }, handler, signal)).rejects.toThrow(message);
});

test('any response counts as success; a server without TLS gets a plain request without credentials, which is reported', async () => {
  const seen: [string, IncomingHttpHeaders][] = [];
  const server = createServer(({ url = '', headers }, answer) => {
    seen.push([url, headers]);
    answer.writeHead(500).end('no');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const httpHeaders = [{ name: 'Authorization', value: 'Bearer secret' }];
  const events: string[] = [];
  let fallbacks = 0;
  const hooks = runner({
    counts: { httpFallback: () => fallbacks++, sleepEnded: () => undefined },
    recorder: { event: (_about, type, reason, message) => events.push(`${type} ${reason} ${message}`) },
    podIps: async () => ['127.0.0.1'],
  });
  const target = { pod, container, id: 't://main' };
  await hooks.run(target, { httpGet: { port, path: '/a', httpHeaders } }, signal);
  await hooks.run(target, { httpGet: { port, path: '/b', scheme: 'HTTPS', httpHeaders } }, signal);
  await new Promise((resolve) => server.close(resolve));
  expect(seen.map(([url, headers]) => [url, headers.authorization, headers['user-agent']])).toEqual([
    ['/a', 'Bearer secret', 'kube-lifecycle/1.36'],
    ['/b', undefined, 'kube-lifecycle/1.36'],
  ]);
  expect(fallbacks).toBe(1);
  expect(events).toEqual([
    `Warning LifecycleHTTPFallback request to HTTPS lifecycle hook 127.0.0.1:${port} got HTTP response, retry with HTTP succeeded`,
  ]);
  const refused = hooks.run(target, { httpGet: { port, path: '/c' } }, signal);
  await expect(refused).rejects.toThrow(
    `failed - error: Get "http://127.0.0.1:${port}/c": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  );
});

test('a sleep ends early, as a failure, when the hook is given up', async () => {
  const stop = new AbortController();
  let cutShort = 0;
  const hooks = runner({ counts: { httpFallback: () => undefined, sleepEnded: () => cutShort++ } });
  const slept = hooks.run({ pod, container, id: 't://main' }, { sleep: { seconds: 5 } }, stop.signal);
  stop.abort();
  await expect(slept).rejects.toThrow('container terminated before sleep hook finished');
  expect(cutShort).toBe(1);
});

/** A server that does something with the socket of each request. */
async function asked(serve: (socket: Socket, request: string) => void): Promise<[Server, number]> {
  const server = createTcpServer((socket) =>
    socket
      .on('error', () => undefined)
      .once('data', (bytes) => {
        serve(socket, bytes.toString());
      }),
  ).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return [server, (server.address() as AddressInfo).port];
}

const target = { pod, container, id: 't://main' };
const getOf = (port: number) => ({ httpGet: { port, path: '/x', host: '127.0.0.1' } });

test('a hook whose server answers 101 and hangs up is done', async () => {
  let request = '';
  const [server, port] = await asked((socket, bytes) => {
    request = bytes;
    socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
  });
  await runner().run(target, getOf(port), signal);
  server.close();
  expect(request).toMatch(/Accept-Encoding: gzip\r\n\r\n$/);
  expect(request).not.toContain('Connection:');
});

test('a hook lasts until its answer has come whole, or 10 KiB of it, or it is given up', async () => {
  const ends: (() => void)[] = [];
  const [server, port] = await asked((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nworking');
    ends.push(() => socket.end());
  });
  let isDone = false;
  const hook = runner()
    .run(target, getOf(port), signal)
    .then(() => {
      isDone = true;
    });
  while (ends.length === 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(isDone).toBe(false);
  ends[0]?.();
  await hook;
  const stop = new AbortController();
  const endless = runner().run(target, getOf(port), stop.signal);
  while (ends.length < 2) await new Promise(setImmediate);
  stop.abort();
  await endless.catch(() => undefined);
  ends[1]?.();
  server.close();
  const [large, largePort] = await asked((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n`),
  );
  await runner().run(target, getOf(largePort), signal);
  large.close();
});
