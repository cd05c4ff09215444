import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { hookRequest, sendHookRequest } from '../../src/kuberuntime/hook-http.ts';
import { HookRunner, type HookRunnerDeps } from '../../src/kuberuntime/hooks.ts';

const signal = new AbortController().signal;
const container = { name: 'main', ports: [{ name: 'web', containerPort: 8080 }] };

describe('the request of an httpGet handler', () => {
  test.for([
    [{ port: 80 }, 'http://10.0.0.1/'],
    [{ port: 'web', path: '/stop?now=1' }, 'http://10.0.0.1:8080/stop?now=1'],
    [{ port: '81', path: 'stop' }, 'http://10.0.0.1:81/stop'],
    [{ port: 8443, scheme: 'HTTPS', host: 'example.com' }, 'https://example.com:8443/'],
    [{ port: 80, host: '::1' }, 'http://[::1]/'],
  ] as const)('%j goes to %s', ([action, url]) => {
    expect(hookRequest(action, container, '10.0.0.1').url.href).toBe(url);
  });

  test.for([['nobody'], [0], [70_000]] as const)('port %s is refused', ([port]) => {
    expect(() => hookRequest({ port }, container, '10.0.0.1')).toThrow(`invalid port number: ${port}`);
  });

  test('headers of the handler win over the usual ones', () => {
    const httpHeaders = [{ name: 'User-Agent', value: 'mine' }];
    expect(hookRequest({ port: 80, httpHeaders }, container, 'h').headers).toEqual({
      'user-agent': 'mine',
      accept: '*/*',
    });
  });
});

test('any answer will do, and a plain server behind https is asked again in plain text, without credentials', async () => {
  const seen: [string, IncomingHttpHeaders][] = [];
  const server = createServer(({ url = '', headers }, answer) => {
    seen.push([url, headers]);
    answer.writeHead(500).end('no');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const httpHeaders = [{ name: 'Authorization', value: 'Bearer secret' }];
  await sendHookRequest(hookRequest({ port, path: '/a', httpHeaders }, container, '127.0.0.1'), signal);
  await sendHookRequest(
    hookRequest({ port, path: '/b', scheme: 'HTTPS', httpHeaders }, container, '127.0.0.1'),
    signal,
  );
  await new Promise((resolve) => server.close(resolve));
  expect(seen.map(([url, { authorization }]) => [url, authorization])).toEqual([
    ['/a', 'Bearer secret'],
    ['/b', undefined],
  ]);
});

const pod = { metadata: { name: 'web', namespace: 'ns', uid: 'u' } };
const runner = (overrides: Partial<HookRunnerDeps> = {}): HookRunner =>
  new HookRunner({
    runtime: {},
    clock: new FakeClock(),
    send: async () => undefined,
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
    'Cannot run handler: invalid handler: none of exec, httpGet, sleep',
  ],
] as const)('%s is a failure that says so', async ([, handler, message]) => {
  await expect(runner().run({ pod, container, id: 't://main' }, handler, signal)).rejects.toThrow(message);
});

test('a sleep ends early, as a failure, when the hook is given up', async () => {
  const stop = new AbortController();
  const slept = runner().run({ pod, container, id: 't://main' }, { sleep: { seconds: 5 } }, stop.signal);
  stop.abort();
  await expect(slept).rejects.toThrow('container terminated before sleep hook finished');
});
