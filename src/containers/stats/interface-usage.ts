import type { InterfaceUsage } from './usage.ts';

/** Packets beside what {@link InterfaceUsage} tells. */
export interface InterfaceCounters extends InterfaceUsage {
  readonly rxPackets: number;
  readonly rxDropped: number;
  readonly txPackets: number;
  readonly txDropped: number;
}

/** Ends of other network namespaces are told of there (cAdvisor's `ignoredDevicePrefixes`). */
const ignored = /^(lo|veth|docker|nerdctl)/;

/** Where `/proc/net/dev` has each number of an interface. */
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

/** The interfaces that `/proc/net/dev` tells of, but those that lead to other network namespaces. */
export const interfacesOf = (text: string): readonly InterfaceCounters[] =>
  text.split('\n').flatMap((line) => {
    const [, name = '', rest = ''] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    if (name === '' || ignored.test(name)) return [];
    const numbers = rest.split(/\s+/).map(Number);
    const counters = columns.map(([key, at]) => [key, numbers[at] ?? 0]);
    return [{ name, ...(Object.fromEntries(counters) as Omit<InterfaceCounters, 'name'>) }];
  });

/** The same without what `/stats/summary` does not tell. */
export const interfaceUsage = (text: string): readonly InterfaceUsage[] =>
  interfacesOf(text).map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes,
    rxErrors,
    txBytes,
    txErrors,
  }));
