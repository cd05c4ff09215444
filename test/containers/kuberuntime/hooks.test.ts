import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
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

test('any answer will do; a server without TLS is asked again without credentials, and that is told', async () => {
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
