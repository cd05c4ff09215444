import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Resolves with the response to a request of Node's HTTP client, and rejects whenever there is none. Node reports an unrequested protocol
 * upgrade (101) neither as `response` nor as `error`, and some ends only as `close`.
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
