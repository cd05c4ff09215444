/** Returns names of simulated nodes: `PREFIX-0`, `PREFIX-1`, … */
export const nodeNames = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** Returns the loopback address of the simulated node with this number: one of 127.64.0.0/10, so that each has its own. */
export function loopbackAddress(index: number): string {
  const n = index + 1;
  return `127.${64 + ((n >> 16) & 63)}.${(n >> 8) & 255}.${n & 255}`;
}
