import { goQuote } from '../go/go-quote.ts';
import type { Container } from './types.ts';

/**
 * Resolves the port of a probe or hook: a number, the name of a container port, or a number as text.
 *
 * Follows kubelet `probe.ResolveContainerPort`.
 *
 * @throws {Error} in Go's words when it is none of these
 */
export function resolvePort(port: number | string, ports: Container['ports']): number {
  const named =
    typeof port === 'string' ? ports?.find(({ name = '' }) => name === port)?.containerPort : port;
  const number = named ?? parseNumber(String(port));
  if (number > 0 && number < 65_536) return number;
  throw new Error(`invalid port number: ${number}`);
}

function parseNumber(text: string): number {
  const fault = (why: string): Error => new Error(`strconv.Atoi: parsing ${goQuote(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw fault('invalid syntax');
  const value = BigInt(text.replace('+', ''));
  if (BigInt.asIntN(64, value) !== value) throw fault('value out of range');
  return Number(value);
}
