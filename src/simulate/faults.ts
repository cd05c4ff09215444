import { parse } from 'yaml';
import { isAborted } from '../base/abort.ts';
import { type Clock, steadyNow } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { parseDuration } from '../kube/duration.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { KeyedRandom } from './keyed-random.ts';

/** The kinds of faults. */
export const faultKinds = [
  'heartbeatStop',
  'apiServerLoss',
  'kubeletRestart',
  'machineRestart',
  'capacity',
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** A fault of the schedule. */
export interface Fault {
  readonly kind: FaultKind;
  /** The time after the start of the simulation, ms. */
  readonly atMs: number;
  /** The time between two occurrences, ms; absent: it comes once. */
  readonly everyMs?: number;
  /** How long it lasts, ms; absent: until the end, and a restart has no duration. */
  readonly forMs?: number;
  /** The nodes: names, a number of nodes, or a percentage of them. */
  readonly nodes: readonly string[] | number | `${number}%`;
  /** With `capacity`: the amounts that the nodes claim. */
  readonly capacity?: ResourceList;
}

/** What a fault acts on. {@link Simulation} with its nodes implements it. */
export interface FaultTarget {
  setHeartbeat(node: string, beats: boolean): void;
  disconnect(node: string): void;
  reconnect(node: string): void;
  restart(node: string, machineToo: boolean): Promise<void>;
  claim(node: string, capacity: ResourceList | undefined): Promise<void>;
}

/** A fault that began or ended. */
export interface FaultRecord {
  readonly fault: FaultKind;
  readonly phase: 'begin' | 'end';
  /** ms after the start of the simulation, by the schedule. */
  readonly atMs: number;
  readonly nodes: readonly string[];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses a schedule of faults: YAML with a list `faults`.
 *
 * @throws {AgentError} `invalid_argument` naming the entry, the field and what would be right
 * @example
 * faultsOf('faults: [{ fault: kubeletRestart, at: 10s, nodes: 10% }]', 'faults.yaml');
 */
export function faultsOf(text: string, where: string): readonly Fault[] {
  let document: unknown;
  try {
    document = parse(text);
  } catch (cause) {
    throw new AgentError('invalid_argument', `${where}: ${messageOf(cause)}`, { cause });
  }
  const list = isRecord(document) ? document['faults'] : undefined;
  if (!Array.isArray(list))
    throw new AgentError('invalid_argument', `${where}: must have a list "faults" of objects`);
  return list.map((entry: unknown, at) => faultOf(entry, `${where}: faults[${at}]`));
}

function faultOf(entry: unknown, where: string): Fault {
  if (!isRecord(entry)) throw new AgentError('invalid_argument', `${where}: must be an object`);
  const allowed = ['fault', 'at', 'every', 'for', 'nodes', 'capacity'];
  const odd = Object.keys(entry).find((key) => !allowed.includes(key));
  if (odd !== undefined)
    throw new AgentError('invalid_argument', `${where}.${odd}: unknown; there are ${allowed.join(', ')}`);
  const kind = faultKinds.find((one) => one === entry['fault']);
  if (!kind)
    throw new AgentError('invalid_argument', `${where}.fault: must be one of ${faultKinds.join(', ')}`);
  const [everyMs, forMs] = ['every', 'for'].map((key) => timeOf(entry[key], `${where}.${key}`));
  if (everyMs === 0) throw new AgentError('invalid_argument', `${where}.every: must be longer than 0s`);
  const { capacity } = entry;
  if ((kind === 'capacity') !== isRecord(capacity))
    throw new AgentError(
      'invalid_argument',
      `${where}.capacity: belongs to the fault capacity, as an object of amounts`,
    );
  return {
    kind,
    atMs: timeOf(entry['at'], `${where}.at`) ?? 0,
    nodes: nodesOf(entry['nodes'] ?? '100%', `${where}.nodes`),
    ...(everyMs !== undefined && { everyMs }),
    ...(forMs !== undefined && { forMs }),
    ...(isRecord(capacity) && {
      capacity: Object.fromEntries(Object.entries(capacity).map(([name, amount]) => [name, String(amount)])),
    }),
  };
}

function timeOf(value: unknown, where: string): number | undefined {
  if (value === undefined) return undefined;
  const nanos = typeof value === 'string' ? parseDuration(value) : undefined;
  if (typeof nanos === 'bigint' && nanos >= 0n) return Number(nanos / 1_000_000n);
  throw new AgentError('invalid_argument', `${where}: must be a duration such as 10s or 1m30s`);
}

function nodesOf(value: unknown, where: string): Fault['nodes'] {
  if (Array.isArray(value)) return value.map(String);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  if (typeof value === 'string' && /^\d+(\.\d+)?%$/.test(value)) return value as `${number}%`;
  throw new AgentError(
    'invalid_argument',
    `${where}: must be a list of names, a number of nodes, or a percentage such as 10%`,
  );
}

/** Chooses the nodes of an occurrence of a fault. The same seed chooses the same. */
export function nodesOfFault(
  { nodes }: Fault,
  all: readonly string[],
  { chance, key }: { readonly chance: KeyedRandom; readonly key: string },
): readonly string[] {
  if (typeof nodes === 'object') return nodes.filter((name) => all.includes(name));
  const count = typeof nodes === 'number' ? nodes : Math.round((Number.parseFloat(nodes) / 100) * all.length);
  const ranked = all.map((name) => [chance.float('fault', key, name), name] as const);
  return ranked
    .sort(([a], [b]) => a - b)
    .slice(0, count)
    .map(([, name]) => name)
    .sort();
}

/** Dependencies of {@link runFaults}. */
export interface FaultDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly chance: KeyedRandom;
  readonly target: FaultTarget;
  readonly nodes: readonly string[];
  readonly onFault?: (record: FaultRecord) => void;
}

/** Lets the faults of a schedule happen until `signal` aborts. Resolves when the last one has ended. */
export async function runFaults(
  faults: readonly Fault[],
  deps: FaultDeps,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = steadyNow(deps.clock);
  const until = (atMs: number): Promise<void> => {
    const leftMs = startedAt + atMs - steadyNow(deps.clock);
    return deps.clock.sleep(Math.max(0, leftMs), signal).catch(() => undefined);
  };
  await Promise.all(
    faults.map(async (fault, index) => {
      const { atMs, everyMs } = fault;
      for (let round = 0; !isAborted(signal) && (round === 0 || everyMs !== undefined); round++) {
        const beginMs = atMs + round * (everyMs ?? 0);
        await until(beginMs);
        if (isAborted(signal)) return;
        const { chance } = deps;
        const nodes = nodesOfFault(fault, deps.nodes, { chance, key: `${index}/${round}` });
        await happen(fault, nodes, beginMs, deps);
        if (fault.forMs === undefined || isRestart(fault)) continue;
        await until(beginMs + fault.forMs);
        if (isAborted(signal)) return;
        await end(fault, nodes, beginMs + fault.forMs, deps);
      }
    }),
  );
}

const isRestart = ({ kind }: Fault): boolean => kind === 'kubeletRestart' || kind === 'machineRestart';

async function happen(fault: Fault, nodes: readonly string[], atMs: number, deps: FaultDeps): Promise<void> {
  const { kind, capacity } = fault;
  deps.onFault?.({ fault: kind, phase: 'begin', atMs, nodes });
  await each(nodes, deps, async (node) => {
    const { target } = deps;
    if (kind === 'heartbeatStop') target.setHeartbeat(node, false);
    else if (kind === 'apiServerLoss') target.disconnect(node);
    else if (kind === 'capacity') await target.claim(node, capacity);
    else await target.restart(node, kind === 'machineRestart');
  });
}

async function end({ kind }: Fault, nodes: readonly string[], atMs: number, deps: FaultDeps): Promise<void> {
  deps.onFault?.({ fault: kind, phase: 'end', atMs, nodes });
  await each(nodes, deps, async (node) => {
    const { target } = deps;
    if (kind === 'heartbeatStop') target.setHeartbeat(node, true);
    else if (kind === 'apiServerLoss') target.reconnect(node);
    else await target.claim(node, undefined);
  });
}

async function each(
  nodes: readonly string[],
  { logger }: Pick<FaultDeps, 'logger'>,
  act: (node: string) => Promise<void>,
): Promise<void> {
  await Promise.all(
    nodes.map((node) =>
      act(node).catch((reason: unknown) => {
        logger.warn('a fault could not be brought about', { node, err: messageOf(reason) });
      }),
    ),
  );
}
