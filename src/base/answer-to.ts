import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Resolves with the answer to a request of Node's client, and rejects in every case in which there is none: Node tells of an unasked change of
 * protocol (101) by neither `response` nor `error`, and of some ends by `close` alone.
 */
export const answerTo = (request: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    request.once('upgrade', (_answer, socket) => {
      socket.destroy();
      reject(new Error('the server changed to another protocol, which was not asked for'));
    });
    request.once('close', () => {
      reject(new Error('the connection was closed without an answer'));
    });
  });
