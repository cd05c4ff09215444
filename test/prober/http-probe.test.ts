import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AgentError } from '../../src/base/errors.ts';
import { resolvePort } from '../../src/kube/container-port.ts';
import { goDuration } from '../../src/kube/duration.ts';
import { httpGet } from '../../src/go/http/client.ts';
import { textOf } from '../../src/go/url.ts';
import { httpGetRequest } from '../../src/kube/http-get-action.ts';
import type { Probe } from '../../src/kube/types.ts';
import { expandAll, mostExpanded } from '../../src/kube/expansion.ts';
import { execProbe } from '../../src/prober/exec-probe.ts';
import { grpcProbe, decodeServingStatus, encodeCheck } from '../../src/prober/grpc-probe.ts';
import { httpProbe } from '../../src/prober/http-probe.ts';
import type { ProbeCall } from '../../src/prober/prober.ts';
import { tcpProbe } from '../../src/prober/tcp-probe.ts';

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function listen(server: Server | Http2Server | ReturnType<typeof createTcpServer>): Promise<number> {
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const call = (probe: Probe, timeoutMs = 2000): ProbeCall => ({
  target: {
    type: 'readiness',
    pod: { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [{ name: 'c' }] } },
    container: { name: 'c' },
    probe,
  },
  podIp: '127.0.0.1',
  containerId: 'fake://1',
  timeoutMs,
});

const http = (listener: RequestListener): Promise<number> => listen(createHttpServer(listener));

test('an HTTP probe introduces itself and succeeds on 200', async () => {
  let agent: string | undefined;
  const port = await http((request, response) => {
    agent = request.headers['user-agent'];
    response.end('fine');
  });
  const answer = await httpProbe(systemClock)(call({ httpGet: { port, path: '/ok' } }));
  expect(answer).toEqual({ outcome: 'success', output: 'fine' });
  expect(agent).toBe('kube-probe/1.36');
});

test('an HTTP probe follows a redirect on its own host', async () => {
  const port = await http((request, response) => {
    if (request.url === '/a') response.writeHead(302, { Location: '/b' }).end();
    else response.end('there');
  });
  const answer = await httpProbe(systemClock)(call({ httpGet: { port, path: '/a' } }));
  expect(answer).toEqual({ outcome: 'success', output: 'there' });
});

test('a redirect to another host is a warning and is not followed', async () => {
  const port = await http((_request, response) => {
    response.writeHead(302, { Location: 'http://elsewhere.example/' }).end('moved');
  });
  const answer = await httpProbe(systemClock)(call({ httpGet: { port } }));
  expect(answer).toEqual({ outcome: 'warning', output: 'Probe terminated redirects, Response body: moved' });
});

test('a redirect that never ends is a failure', async () => {
  const port = await http((_request, response) => {
    response.writeHead(302, { Location: '/again' }).end();
  });
  const answer = await httpProbe(systemClock)(call({ httpGet: { port } }));
  expect(answer).toEqual({
    outcome: 'failure',
    output: 'Get "/again": stopped after 10 redirects',
  });
});

test('of a large body ten KiB are read', async () => {
  const port = await http((_request, response) => {
    response.end('x'.repeat(100_000));
  });
  const answer = await httpProbe(systemClock)(call({ httpGet: { port } }));
  expect(answer.output).toHaveLength(10_240);
});

test('an HTTP probe that gets no answer in time is a failure', async () => {
  const port = await http(() => undefined);
  const answer = await httpProbe(systemClock)(call({ httpGet: { port, path: '/' } }, 50));
  expect(answer.outcome).toBe('failure');
  expect(answer.output).toContain('context deadline exceeded');
});

test('probes of a closed port say what Go says', async () => {
  const port = await http(() => undefined);
  const closed = open.pop() as Server;
  await new Promise((resolve) => closed.close(resolve));
  const refused = `dial tcp 127.0.0.1:${port}: connect: connection refused`;
  expect(await tcpProbe(systemClock)(call({ tcpSocket: { port } }))).toEqual({
    outcome: 'failure',
    output: refused,
  });
  expect(await httpProbe(systemClock)(call({ httpGet: { port, path: '/x' } }))).toEqual({
    outcome: 'failure',
    output: `Get "http://127.0.0.1:${port}/x": ${refused}`,
  });
});

test.for([
  ['', 'EOF'],
  ['HTTP/1.0', 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "HTTP/1.0"'],
  ['hello', 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "hello"'],
  ['hello world', 'net/http: HTTP/1.x transport connection broken: malformed HTTP status code "world"'],
  ['ICY 200 OK', 'net/http: HTTP/1.x transport connection broken: malformed HTTP version "ICY"'],
  ['\x15\x03', 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "\\x15\\x03"'],
  ['HTTP/1.1 200 OK\r\nA: b', 'net/http: HTTP/1.x transport connection broken: unexpected EOF'],
] as const)('a server that answers %j is told of as Go does', async ([text, why]) => {
  const port = await listen(
    createTcpServer((socket) => socket.once('data', () => socket.end(text && `${text}\r\n`))),
  );
  expect(await httpProbe(systemClock)(call({ httpGet: { port, path: '/' } }))).toEqual({
    outcome: 'failure',
    output: `Get "http://127.0.0.1:${port}/": ${why}`,
  });
});

test.for([
  ['headers', 'HTTP/1.1 200 OK\r\n', `A: ${'y'.repeat(1000)}\r\n`.repeat(100)],
  ['a line', '', 'x'.repeat(100_000)],
] as const)('a server that sends %s without end is given up', async ([, begin, more]) => {
  const port = await listen(
    createTcpServer((socket) => {
      const go = (): void => {
        while (!socket.destroyed && socket.write(more));
      };
      socket.on('error', () => undefined).on('drain', go);
      socket.once('data', () => {
        socket.write(begin);
        go();
      });
    }),
  );
  expect(await httpProbe(systemClock)(call({ httpGet: { port, path: '/' } }))).toEqual({
    outcome: 'failure',
    output: `Get "http://127.0.0.1:${port}/": net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 10485760 bytes; aborted`,
  });
});

test('a server that ends its lines as a shell does is understood', async () => {
  const port = await listen(
    createTcpServer((socket) => socket.once('data', () => socket.end('HTTP/1.0 200 OK\nA: b\n\nfine\n'))),
  );
  expect(await httpProbe(systemClock)(call({ httpGet: { port } }))).toEqual({
    outcome: 'success',
    output: 'fine\n',
  });
});

test('a server without TLS, and one that resets connections, are told of as Go does', async () => {
  const plain = await http((_request, response) => response.end());
  const httpGet = { port: plain, path: '/', scheme: 'HTTPS' };
  expect((await httpProbe(systemClock)(call({ httpGet }))).output).toBe(
    `Get "https://127.0.0.1:${plain}/": http: server gave HTTP response to HTTPS client`,
  );
  const port = await listen(createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy())));
  expect((await httpProbe(systemClock)(call({ httpGet: { port } }))).output).toMatch(
    new RegExp(`: read tcp 127.0.0.1:\\d+->127.0.0.1:${port}: read: connection reset by peer$`),
  );
});

test('an answer that came while the agent itself was held up counts, though its time is over', async () => {
  const port = await listen(createTcpServer());
  const answer = tcpProbe(systemClock)(call({ tcpSocket: { port } }, 20));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
  expect(await answer).toMatchObject({ outcome: 'success' });
});

test('a TCP probe succeeds where something listens', async () => {
  const port = await listen(createTcpServer());
  expect(await tcpProbe(systemClock)(call({ tcpSocket: { port } }))).toEqual({
    outcome: 'success',
    output: '',
  });
});

function health(status: number, code = '0', message = ''): Http2Server {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'grpc-status': code, 'grpc-message': message });
    });
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, status]));
  });
  return server;
}

test.for([
  [health(1), { outcome: 'success', output: 'service healthy' }],
  [health(2), { outcome: 'failure', output: 'service unhealthy (responded with "NOT_SERVING")' }],
  [
    health(1, '12', 'no%20such'),
    {
      outcome: 'failure',
      output:
        'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): no such',
    },
  ],
  [
    health(1, '5', 'unknown service'),
    {
      outcome: 'failure',
      output: 'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
    },
  ],
] as const)('a gRPC probe reads the health service %#', async ([server, expected]) => {
  const port = await listen(server);
  expect(await grpcProbe(systemClock)(call({ grpc: { port, service: 's' } }))).toEqual(expected);
});

test('a gRPC server that is not there is waited for', async () => {
  const port = await listen(createTcpServer());
  const closed = open.pop() as unknown as ReturnType<typeof createTcpServer>;
  await new Promise((resolve) => closed.close(resolve));
  const answer = await grpcProbe(systemClock)(call({ grpc: { port } }, 60));
  expect(answer.output).toBe(
    `timeout: failed to connect service "127.0.0.1:${port}" within 60ms: context deadline exceeded`,
  );
});

test.for([
  ['speaks HTTP/1', () => createHttpServer((_request, response) => response.end('no'))],
  ['says nothing', () => createTcpServer()],
  ['hangs up', () => createTcpServer((socket) => socket.end())],
] as const)('a gRPC server that %s was not reached', async ([, server]) => {
  const port = await listen(server());
  const answer = await grpcProbe(systemClock)(call({ grpc: { port } }, 60));
  expect(answer.output).toBe(
    `timeout: failed to connect service "127.0.0.1:${port}" within 60ms: context deadline exceeded`,
  );
});

test('a gRPC server that does not answer is a failure', async () => {
  const server = createHttp2Server();
  server.on('stream', () => undefined);
  const port = await listen(server);
  const answer = await grpcProbe(systemClock)(call({ grpc: { port } }, 80));
  expect(answer.output).toBe('timeout: health rpc did not complete within 80ms');
});

test('the health request carries the service, a silent answer is UNKNOWN', () => {
  expect([...encodeCheck('a')]).toEqual([0, 0, 0, 0, 3, 0x0a, 1, 97]);
  expect([...encodeCheck('')]).toEqual([0, 0, 0, 0, 0]);
  expect(encodeCheck('x'.repeat(200))).toHaveLength(5 + 3 + 200);
  expect(decodeServingStatus(Buffer.alloc(5))).toBe('UNKNOWN');
});

test.for([
  [0, 'success'],
  [1, 'failure'],
] as const)('a command that exits with %i is a %s', async ([exitCode, outcome]) => {
  const run = execProbe({
    execSync: async () => ({ exitCode, stdout: Buffer.from('a'), stderr: Buffer.from('b') }),
    expand: (command) => command,
  });
  expect(await run(call({ exec: { command: ['x'] } }))).toEqual({ outcome, output: 'ab' });
});

test('a command that takes too long is a failure, one that cannot run an error', async () => {
  const failing = (reason: Error) =>
    execProbe({ execSync: () => Promise.reject(reason), expand: (command) => command });
  const late = failing(new AgentError('deadline_exceeded', 'late'));
  expect(await late(call({ exec: { command: ['sleep', '10'] } }, 1000))).toEqual({
    outcome: 'failure',
    output: 'command timed out: "sleep 10" timed out after 1s',
  });
  await expect(failing(new Error('gone'))(call({ exec: { command: ['x'] } }))).rejects.toThrow('gone');
});

test('a command that its variables make too long is a failure, and is not run', async () => {
  const runs: unknown[] = [];
  const run = execProbe({
    execSync: async (...call) => {
      runs.push(call);
      return { exitCode: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
    },
    expand: (command) => expandAll(command, () => 'x'.repeat(mostExpanded)),
  });
  expect(await run(call({ exec: { command: ['echo', '$(A)$(A)'] } }))).toEqual({
    outcome: 'failure',
    output: `command cannot be run: the variables make more than ${mostExpanded} characters of it, which no program can be started with`,
  });
  expect(runs).toEqual([]);
});

test.for([
  [500, '500ms'],
  [1000, '1s'],
  [90_000, '1m30s'],
  [3_600_000, '1h0m0s'],
] as const)('%i ms are written %s', ([ms, text]) => {
  expect(goDuration(ms)).toBe(text);
});

test('a port may be named, a number or a number in text', () => {
  const ports = [{ name: 'web', containerPort: 81 }];
  expect([resolvePort('web', ports), resolvePort(80, ports), resolvePort('82', undefined)]).toEqual([
    81, 80, 82,
  ]);
  expect(() => resolvePort('99999999999999999999', ports)).toThrow('value out of range');
});

test.for([
  ['/a%20b ü', '/a%20b%20%C3%BC'],
  ['a/x:y', '/a/x:y'],
  ['\u0001', '/%01'],
  ['/a#(b)*|', '/a#(b)*%7C'],
  ['/a#%', '/a%23%25'],
  ['//<u@h:p/x', '//%3Cu@h:p/x'],
  ['http://other:1/x?', '/x?'],
  ['', ''],
] as const)('the path %j is asked for as %j', ([path, shown]) => {
  const target = { httpGet: { port: 80, path }, podIp: '10.0.0.1', ports: undefined };
  expect(textOf(String(httpGetRequest(target).url))).toBe(`http://10.0.0.1:80${shown}`);
});

test('a path that reads as a URL without host asks nobody', async () => {
  const request = httpGetRequest({ httpGet: { port: 80, path: 'a:b' }, podIp: '10.0.0.1', ports: undefined });
  expect(String(request.url)).toBe('http:b');
  const client = { clock: systemClock, http2: false, extra: [] };
  await expect(httpGet(request, client, new AbortController().signal)).rejects.toThrow(
    'Get "http:b": http: no Host in request URL',
  );
});

test.for([
  ['http://a', 'http://[http:%2F%2Fa]:80', 'invalid URL escape "%2F"'],
  ['a b', 'http://a%20b:80', 'invalid URL escape "%20"'],
  ['[::1]', 'http://[[::1]]:80', 'invalid IP-literal'],
  ['[1.2.3.4]', 'http://[1.2.3.4]:80', 'invalid IP-literal'],
  ['[a', 'http://[a:80', "missing ']' in host"],
  [
    ']a:',
    'http://[]a:]:80',
    'invalid host: ParseAddr("]a:"): each colon-separated field must have at least one digit (at "]a:")',
  ],
  ['a:1', 'http://[a:1]:80', 'invalid host: ParseAddr("a:1"): address string too short'],
  ['x.y:1', 'http://[x.y:1]:80', 'invalid host: ParseAddr("x.y:1"): unexpected character (at "x.y:1")'],
  ['::1%é', 'http://[::1%25%C3%A9]:80', 'invalid URL escape "%C3"'],
] as const)('the host %j cannot be asked: %s, %s', ([host, url, why]) => {
  const target = { httpGet: { port: 80, host }, podIp: '10.0.0.1', ports: undefined };
  expect(() => httpGetRequest(target)).toThrow(`parse "${url}": ${why}`);
});

test.for([
  ['fe80::1%eth0', 'http://[fe80::1%25eth0]:80'],
  ['a%', 'http://a%25:80'],
  ['ü', 'http://%C3%BC:80'],
  ['::ffff:1.2.3.4', 'http://[::ffff:1.2.3.4]:80'],
] as const)('the host %j is asked as %s', ([host, url]) => {
  const target = { httpGet: { port: 80, host }, podIp: '10.0.0.1', ports: undefined };
  expect(textOf(String(httpGetRequest(target).url))).toBe(url);
});
