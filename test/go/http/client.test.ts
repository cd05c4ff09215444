import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { httpGet, TimeoutReached } from '../../../src/go/http/client.ts';
import { asked, listen, outcomeOf, probeClient, requestOf } from './support.ts';

const answering = (...answers: readonly string[]): Promise<number> => {
  let at = 0;
  return asked((socket) => socket.end(answers[Math.min(at++, answers.length - 1)] ?? '', 'latin1'));
};

test('an answer of 101 counts at once, also when the server then hangs up, and the time is over at its end when it does not', async () => {
  const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
  expect(await outcomeOf(requestOf(await answering(head)))).toBe('101 ');
  const open = await asked((socket) => socket.write(head));
  expect(await outcomeOf(requestOf(open), { timeoutMs: 50 })).toBe(
    'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
  );
});

test.for([
  ['accepts and says nothing', ''],
  ['never ends its headers', 'HTTP/1.1 200 OK\r\nA: b\r\n'],
  ['only ever announces an answer', 'HTTP/1.1 102 Processing\r\n\r\n'],
] as const)('a server that %s is left when the time is over', async ([, text]) => {
  const port = await asked((socket) => socket.write(text));
  expect(await outcomeOf(requestOf(port), { timeoutMs: 50 })).toBe(
    'Get "http://127.0.0.1:PORT/p": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
  );
});

test('the time is over although nothing happens on the connection, and the connection ends with it', async () => {
  const clock = new FakeClock();
  const closed = Promise.withResolvers<undefined>();
  const port = await listen(
    createServer((socket) =>
      socket.resume().once('close', () => {
        closed.resolve(undefined);
      }),
    ),
  );
  const abort = new AbortController();
  const request = httpGet(requestOf(port), { ...probeClient, clock }, abort.signal);
  clock.timer(1000, () => {
    abort.abort(new TimeoutReached());
  });
  setImmediate(() => {
    void clock.advance(1000);
  });
  await expect(request).rejects.toThrow('context deadline exceeded');
  await closed.promise;
});

test('a request that is called off says so', async () => {
  const port = await asked(() => undefined);
  const abort = new AbortController();
  const request = httpGet(requestOf(port), probeClient, abort.signal);
  abort.abort();
  await expect(request).rejects.toThrow(`Get "http://127.0.0.1:${port}/p": context canceled`);
});

test.for([
  ['/b?c', '302', '200 fine'],
  ['/b?c', '308', '200 fine'],
  ['', '302', '302 '],
  ['/b', '300', '300 '],
  ['//other.example/b', '302', '302 '],
  [
    '::bad',
    '302',
    'Get "http://127.0.0.1:PORT/p": failed to parse Location header "::bad": parse "::bad": missing protocol scheme',
  ],
  [
    '/%zz',
    '303',
    'Get "http://127.0.0.1:PORT/p": failed to parse Location header "/%zz": parse "/%zz": invalid URL escape "%zz"',
  ],
  ['ftp://127.0.0.1/', '301', 'Get "ftp://127.0.0.1/": unsupported protocol scheme "ftp"'],
] as const)('a redirect to %j with %s: %s', async ([location, status, expected]) => {
  const port = await answering(
    `HTTP/1.1 ${status} x\r\nLocation: ${location}\r\n\r\n`,
    'HTTP/1.1 200 OK\r\n\r\nfine',
  );
  expect(await outcomeOf(requestOf(port))).toBe(expected);
});

test('a redirect is followed ten times at most, tells where it came from, and waits for a short body', async () => {
  const seen: string[] = [];
  const port = await asked((socket, request) => {
    seen.push(/Referer: (.*)\r/.exec(request.toString())?.[1] ?? 'none');
    socket.end('HTTP/1.1 302 x\r\nLocation: again\r\n\r\n');
  });
  expect(await outcomeOf(requestOf(port))).toBe('Get "again": stopped after 10 redirects');
  expect(seen).toHaveLength(10);
  expect(seen.slice(0, 3)).toEqual(['none', `http://127.0.0.1:${port}/p`, `http://127.0.0.1:${port}/again`]);
  const endless = await asked((socket) => socket.write('HTTP/1.1 302 x\r\nLocation: again\r\n\r\n'));
  expect(await outcomeOf(requestOf(endless), { timeoutMs: 50 })).toBe(
    'Get "http://127.0.0.1:PORT/again": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
  );
});

test('what a server says before it resets the connection counts', async () => {
  const port = await asked((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', () => socket.resetAndDestroy());
  });
  expect(await outcomeOf(requestOf(port))).toBe('200 ok');
  const reset = await asked((socket) => socket.resetAndDestroy());
  expect(await outcomeOf(requestOf(reset))).toBe(
    'Get "http://127.0.0.1:PORT/p": read tcp CLIENT->127.0.0.1:PORT: read: connection reset by peer',
  );
});
