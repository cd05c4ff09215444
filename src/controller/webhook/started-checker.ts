import { connect } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';

/** How long a TLS handshake with the own server may take, ms. */
const dialMs = 10_000;

/** Resolves when a server on this machine has made a TLS handshake. @throws {AgentError} `unavailable` */
export async function dialed(
  { host, port }: { readonly host: string; readonly port: number },
  clock: Clock,
): Promise<void> {
  const own = host === '::' || host === '0.0.0.0' ? 'localhost' : host;
  // its certificate is for other names; only that it answers counts
  const socket = connect({ host: own, port, rejectUnauthorized: false });
  const done = Promise.withResolvers<undefined>();
  const stop = clock.timer(dialMs, () => {
    done.reject(new Error(`no answer within ${dialMs / 1000} s`));
  });
  socket.once('secureConnect', () => {
    done.resolve(undefined);
  });
  socket.once('error', done.reject);
  try {
    await done.promise;
  } catch (reason) {
    throw new AgentError('unavailable', `webhook server is not reachable: ${(reason as Error).message}`, {
      cause: reason,
    });
  } finally {
    stop();
    socket.destroy();
  }
}
