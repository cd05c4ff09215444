import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { expect, test } from 'vitest';
import { listen, outcomeOf, probeClient, requestOf, serverKey } from './support.ts';

type Serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

function server(serve: Serve, allowHTTP1 = false): Http2SecureServer {
  const made = createSecureServer({ ...serverKey, allowHTTP1 });
  made.on('session', (session) => session.on('error', () => undefined));
  made.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    serve(stream, headers);
  });
  return made;
}
const https = (port: number, action = {}): ReturnType<typeof requestOf> =>
  requestOf(port, { scheme: 'HTTPS', ...action });
const get = 'Get "https://127.0.0.1:PORT/p": ';
const timedOut = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';

test.for([
  ['200', 200, 'fine', '200 fine'],
  ['404', 404, 'no', '404 no'],
  ['a large body', 200, 'x'.repeat(100_000), '200 10240'],
] as const)('a server of HTTP/2 is asked in its language: %s', async ([, status, body, expected]) => {
  const port = await listen(
    server((stream) => {
      stream.respond({ ':status': status });
      stream.end(body);
    }, true),
  );
  expect(await outcomeOf(https(port))).toBe(expected);
});

test('fields go over HTTP/2 as bytes, and a redirect is followed', async () => {
  let seen: IncomingHttpHeaders = {};
  const port = await listen(
    server((stream, headers) => {
      seen = headers;
      if (headers[':path'] === '/b') stream.respond({ ':status': 204 }, { endStream: true });
      else stream.respond({ ':status': 302, location: '/b' }, { endStream: true });
    }),
  );
  const httpHeaders = [
    { name: 'X-Name', value: 'café' },
    { name: 'Host', value: 'bücher.example' },
    { name: 'Authorization', value: 'a' },
    { name: 'Authorization', value: 'b' },
    { name: 'Keep-Alive', value: 'x' },
  ];
  expect(await outcomeOf(https(port, { httpHeaders }))).toBe('204 ');
  expect(Buffer.from(String(seen['x-name']), 'latin1').toString()).toBe('café');
  expect(seen[':authority']).toBe('xn--bcher-kva.example');
  expect([seen['keep-alive'], seen['user-agent']]).toEqual([undefined, 'kube-probe/1.36']);
});

test('a client without HTTP/2, and a request for a WebSocket, are served over HTTP/1.1 where that is spoken', async () => {
  const both = createSecureServer({ ...serverKey, allowHTTP1: true }, (request, response) => {
    response.end(request.httpVersion);
  });
  const port = await listen(both);
  expect(await outcomeOf(https(port))).toBe('200 2.0');
  expect(await outcomeOf(https(port), { client: { ...probeClient, http2: false } })).toBe('200 1.1');
  const one = await listen(server(() => undefined));
  expect(await outcomeOf(https(one), { client: { ...probeClient, http2: false } })).toMatch(/^403 /);
});

test.for([
  [
    'resets the stream',
    (stream) => {
      stream.close(2);
    },
    'stream error: stream ID 1; INTERNAL_ERROR; received from peer',
  ],
  [
    'cancels the stream',
    (stream) => {
      stream.close(8);
    },
    'stream error: stream ID 1; CANCEL; received from peer',
  ],
  [
    'wants HTTP/1.1',
    (stream) => {
      stream.close(13);
    },
    'stream error: stream ID 1; HTTP_1_1_REQUIRED; received from peer',
  ],
  [
    'ends the stream without a word',
    (stream) => {
      stream.close(0);
    },
    'stream error: stream ID 1; NO_ERROR; received from peer',
  ],
  [
    'refuses the stream',
    (stream) => {
      stream.close(7);
    },
    timedOut,
  ],
  ['never answers', () => undefined, timedOut],
  [
    'goes away with an error',
    (stream) => stream.session?.goaway(11, 0, Buffer.from('calm')),
    'http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=ENHANCE_YOUR_CALM, debug="calm"',
  ],
] satisfies (readonly [string, Serve, string])[])('a server that %s', async ([, serve, fault]) => {
  const port = await listen(server(serve));
  expect(await outcomeOf(https(port), { timeoutMs: 150 })).toBe(get + fault);
});

test('a server that goes away before a request is asked again over a new connection', async () => {
  let sessions = 0;
  const away = server((stream) => {
    stream.respond({ ':status': 200 });
    stream.end('fine');
  });
  away.on('session', (session) => {
    if (++sessions === 1) session.goaway(0, 0);
  });
  const port = await listen(away);
  expect(await outcomeOf(https(port))).toBe('200 fine');
  expect(sessions).toBe(2);
});

test.for([
  [
    'a body that breaks off',
    (stream) => {
      stream.respond({ ':status': 200 });
      stream.write('abc');
      setTimeout(() => stream.session?.socket.destroy(), 20);
    },
    /GOAWAY|unexpected EOF/,
  ],
  [
    'a body shorter than told',
    (stream) => {
      stream.respond({ ':status': 200, 'content-length': '10' });
      stream.end('abc');
    },
    /^unexpected EOF$/,
  ],
  [
    'a body without end',
    (stream) => {
      stream.respond({ ':status': 200 });
      stream.write('abc');
    },
    /^context deadline exceeded \(Client.Timeout or context cancellation while reading body\)$/,
  ],
] satisfies (readonly [string, Serve, RegExp])[])('%s', async ([, serve, fault]) => {
  const port = await listen(server(serve));
  expect(await outcomeOf(https(port), { timeoutMs: 150 })).toMatch(fault);
});
