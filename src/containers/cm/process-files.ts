import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { InterfaceUsage } from '../stats/usage.ts';

/** What the kernel tells of processes, below `/proc`. Paths are absolute. */
export interface ProcessFiles {
  /** `undefined`: it is not there any more, or not for us. */
  read(path: string): string | undefined;
  /** Where the links in a folder lead; none when it is not there any more. */
  links(path: string): readonly string[];
}

const unlessGone = <T>(act: () => T): T | undefined => {
  try {
    return act();
  } catch {
    return undefined;
  }
};

/** The kernel's own: it answers from memory, so nothing here waits for a disk. */
export const kernelProcessFiles: ProcessFiles = {
  read: (path) => unlessGone(() => readFileSync(path, 'utf8')),
  links: (path) =>
    (unlessGone(() => readdirSync(path)) ?? []).flatMap(
      (name) => unlessGone(() => readlinkSync(`${path}/${name}`)) ?? [],
    ),
};

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
