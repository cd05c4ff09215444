import { isConflict } from '../../api/client.ts';
import { sameJson } from '../../apimachinery/json.ts';
import { seconds } from '../../apimachinery/times.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client, Reader } from '../../controller/types.ts';
import { tolerates, type Taint } from '../../kube/taints.ts';
import type { Toleration } from '../../kube/types.ts';
import { nameOf } from '../workload/objects.ts';
import type { Node } from '../workload/types.ts';

const keyOf = (name: string): string => `node.kubernetes.io/${name}`;
export const notReadyKey: string = keyOf('not-ready');
export const unreachableKey: string = keyOf('unreachable');
const unschedulableKey = keyOf('unschedulable');

/** The taints of conditions, by their status. */
const conditionKeys: ReadonlyMap<string, string> = new Map([
  ['Ready=False', notReadyKey],
  ['Ready=Unknown', unreachableKey],
  ['MemoryPressure=True', keyOf('memory-pressure')],
  ['DiskPressure=True', keyOf('disk-pressure')],
  ['NetworkUnavailable=True', keyOf('network-unavailable')],
  ['PIDPressure=True', keyOf('pid-pressure')],
]);
const ownKeys: ReadonlySet<string> = new Set([...conditionKeys.values(), unschedulableKey]);

/** A change of a node's taints. Taints are the same when key and effect are. */
export interface TaintChange {
  readonly add: readonly Taint[];
  readonly remove: readonly Taint[];
}

const isSame = (one: Taint, other: Taint): boolean => one.key === other.key && one.effect === other.effect;

export const hasTaint = ({ spec }: Node, taint: Taint): boolean =>
  (spec?.taints ?? []).some((one) => isSame(one, taint));

/** Returns the change after which a node's NoSchedule taints are those of its conditions. */
export function conditionTaints({ spec, status }: Node): TaintChange {
  const keys = (status?.conditions ?? []).flatMap(
    ({ type, status: is }) => conditionKeys.get(`${type}=${is}`) ?? [],
  );
  if (spec?.unschedulable === true) keys.push(unschedulableKey);
  const expected = keys.map((key): Taint => ({ key, effect: 'NoSchedule' }));
  const present = (spec?.taints ?? []).filter(
    ({ key, effect }) => effect === 'NoSchedule' && ownKeys.has(key),
  );
  return {
    add: expected.filter((one) => !present.some((other) => isSame(one, other))),
    remove: present.filter((one) => !expected.some((other) => isSame(one, other))),
  };
}

/** Returns the taints after a change. */
export function changedTaints(
  taints: readonly Taint[],
  { add, remove }: TaintChange,
  now: number,
): readonly Taint[] {
  const rest = taints.filter((one) => !remove.some((other) => isSame(one, other)));
  const fresh = add.filter((one) => !rest.some((other) => isSame(one, other)));
  return [...rest, ...fresh.map((one) => ({ ...one, timeAdded: seconds(now) }))];
}

const attempts = 5;

/** Changes the taints of a node as it is now at the server. */
export async function changeTaints(
  { client, reader }: { readonly client: Client; readonly reader: Reader },
  node: Node,
  change: TaintChange,
  { now, signal }: { readonly now: number; readonly signal: AbortSignal },
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const current = await reader.get(kinds.Node, { name: nameOf(node) }, { signal });
    const before = current.spec?.taints ?? [];
    const taints = changedTaints(before, change, now);
    if (sameJson(before, taints)) return;
    const resourceVersion = current.metadata?.resourceVersion;
    const body = {
      metadata: { ...(resourceVersion !== undefined && { resourceVersion }) },
      spec: { taints: taints.length > 0 ? taints : null },
    };
    try {
      await client.patch(kinds.Node, current, { type: 'merge', data: () => body }, { signal });
      return;
    } catch (reason) {
      if (!isConflict(reason) || attempt === attempts) throw reason;
    }
  }
}

/**
 * Returns after how many ms NoExecute taints evict a pod: 0 when it does not tolerate them, the shortest `tolerationSeconds` of the
 * tolerations that cover them otherwise; undefined: never.
 */
export function evictionDelay(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
): number | undefined {
  const evicting = taints.filter(({ effect }) => effect === 'NoExecute');
  if (evicting.length === 0) return undefined;
  const used = evicting.map((taint) => tolerations.find((toleration) => tolerates(toleration, taint)));
  if (used.includes(undefined)) return 0;
  const limits = used.flatMap((toleration) => toleration?.tolerationSeconds ?? []);
  return limits.length > 0 ? Math.max(0, Math.min(...limits)) * 1000 : undefined;
}

/** The labels of a node's operating system and architecture, and their old names, which follow. */
const labelPairs = [
  ['kubernetes.io/os', 'beta.kubernetes.io/os'],
  ['kubernetes.io/arch', 'beta.kubernetes.io/arch'],
] as const;

/** Returns the labels that a node lacks or has with another value than their newer name. */
export function missingLabels({ metadata }: Node): Readonly<Record<string, string>> {
  const { labels = {} } = metadata ?? {};
  const pairs = labelPairs.flatMap(([newer, older]): [string, string][] => {
    const value = labels[newer];
    return value === undefined || value === labels[older] ? [] : [[older, value]];
  });
  return Object.fromEntries(pairs);
}
