import { tableOf } from '../base/own.ts';
import { type HostPort, joinHostPort } from '../base/host-port.ts';

const reasons: Readonly<Record<string, string>> = tableOf({
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ECONNRESET: 'connection reset by peer',
  ETIMEDOUT: 'connection timed out',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EACCES: 'permission denied',
});

/** Returns Go's message for a failed connection attempt. */
export function dialError(reason: unknown, { host, port }: HostPort): string {
  const { code = '', message } = reason as NodeJS.ErrnoException;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${host}: no such host`;
  return `dial tcp ${joinHostPort(host, port)}: connect: ${reasons[code] ?? message}`;
}
