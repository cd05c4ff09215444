import type { Container } from '../kube/types.ts';

/**
 * The port that a probe means: a number, the name of a port of the container, or a number as text.
 *
 * Follows kubelet `probe.ResolveContainerPort`.
 *
 * @throws {Error} in Go's words when it is none of these
 */
export function resolvePort(port: number | string, ports: Container['ports']): number {
  const named = typeof port === 'string' ? ports?.find(({ name }) => name === port)?.containerPort : port;
  const number = named ?? parseNumber(String(port));
  if (number > 0 && number < 65_536) return number;
  throw new Error(`invalid port number: ${number}`);
}

function parseNumber(text: string): number {
  const fault = (why: string): Error => new Error(`strconv.Atoi: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw fault('invalid syntax');
  const value = BigInt(text.replace('+', ''));
  if (BigInt.asIntN(64, value) !== value) throw fault('value out of range');
  return Number(value);
}

/** A span of whole ms as Go prints it: `1s`, `1m30s`, `1.5s`. */
export function goDuration(ms: number): string {
  if (ms < 1000) return `${ms}ms`;
  const [hours, minutes] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60];
  const seconds = `${(ms % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
