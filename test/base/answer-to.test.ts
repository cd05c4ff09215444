import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { answerTo } from '../../src/base/answer-to.ts';

let server: Server;
afterEach(() => server.close());

async function asked(answer: string): Promise<string> {
  server = createServer((socket) => socket.once('data', () => socket.end(answer)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: '127.0.0.1', port, agent: false });
  sent.end();
  return answerTo(sent).then(
    (message) => {
      message.destroy();
      return String(message.statusCode);
    },
    (reason: unknown) => (reason as Error).message,
  );
}

test.for([
  ['an answer', 'HTTP/1.1 204 No Content\r\n\r\n', '204'],
  [
    'an unasked change of protocol',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    'the server changed to another protocol, which was not asked for',
  ],
  ['an end without a word', '', 'socket hang up'],
  ['an end after an informational answer', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'socket hang up'],
  ['what is no HTTP', 'SSH-2.0\r\n', 'Parse Error: Expected HTTP/, RTSP/ or ICE/'],
] as const)('%s settles a request', async ([, answer, told]) => {
  expect(await asked(answer)).toBe(told);
});
