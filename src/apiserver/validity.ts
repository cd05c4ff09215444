import { type Clock, systemClock } from '../base/clock.ts';
import { hour, year } from '../pki/certificates.ts';

/**
 * Returns how long a certificate of the server is valid: some years by the server's clock, and also by the machine's, since clients check
 * it by theirs when a test gives the server a clock of its own.
 */
export function validity(
  clock: Pick<Clock, 'now'>,
  years = 1,
): { readonly notBefore: number; readonly notAfter: number } {
  const times = [clock.now(), systemClock.now()];
  return { notBefore: Math.min(...times) - hour, notAfter: Math.max(...times) + years * year };
}
