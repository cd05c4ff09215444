import type { InterfaceUsage } from './usage.ts';

/** Packet counters in addition to {@link InterfaceUsage}. */
export interface InterfaceCounters extends InterfaceUsage {
  readonly rxPackets: number;
  readonly rxDropped: number;
  readonly txPackets: number;
  readonly txDropped: number;
}

/** Interfaces to skip: loopback and ends of other network namespaces (cAdvisor's `ignoredDevicePrefixes`). */
const ignored = /^(lo|veth|docker|nerdctl)/;

/** Column of each number of an interface in `/proc/net/dev`. */
const columns = [
  ['rxBytes', 0],
  ['rxPackets', 1],
  ['rxErrors', 2],
  ['rxDropped', 3],
  ['txBytes', 8],
  ['txPackets', 9],
  ['txErrors', 10],
  ['txDropped', 11],
] as const;

/** Returns the interfaces in `/proc/net/dev`, without loopback and ends of other network namespaces. */
export const interfacesOf = (text: string): readonly InterfaceCounters[] =>
  text.split('\n').flatMap((line) => {
    const [, name = '', rest = ''] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    if (name === '' || ignored.test(name)) return [];
    const numbers = rest.split(/\s+/).map(Number);
    const counters = columns.map(([key, at]) => [key, numbers[at] ?? 0]);
    return [{ name, ...(Object.fromEntries(counters) as Omit<InterfaceCounters, 'name'>) }];
  });

/** Returns the interfaces with the members of `/stats/summary` only. */
export const interfaceUsage = (text: string): readonly InterfaceUsage[] =>
  interfacesOf(text).map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes,
    rxErrors,
    txBytes,
    txErrors,
  }));
