import { sameAmount } from '../kube/resources/quantity.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { PodCondition, PodStatus } from '../kube/types.ts';
import { conditionOf, isOwnCondition, isSharedCondition } from './condition-list.ts';

/** Members of a status that the kubelet writes, besides its conditions. */
const ownFields = [
  'observedGeneration',
  'phase',
  'message',
  'reason',
  'nominatedNodeName',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'qosClass',
  'resize',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'allocatedResources',
  'resources',
] as const satisfies readonly (keyof PodStatus)[];

/**
 * R188: do two normalised statuses say the same where the kubelet is the writer? Times of conditions do not count, nor do conditions
 * and claims of others.
 *
 * Follows kubelet `isPodStatusByKubeletEqual`.
 */
export function isPodStatusByKubeletEqual(old: PodStatus, status: PodStatus): boolean {
  if (old === status) return true;
  if (!sameConditions(old.conditions ?? [], status.conditions ?? [])) return false;
  for (const field of ownFields) if (!same(old[field], status[field], field)) return false;
  return true;
}

/** Do two statuses say the same in every member, to Go's eyes? */
export const saysTheSame = (a: PodStatus, b: PodStatus): boolean => same(a, b, 'status');

const counts = ({ type }: PodCondition): boolean => isOwnCondition(type) || isSharedCondition(type);

function sameConditions(old: readonly PodCondition[], next: readonly PodCondition[]): boolean {
  if (old === next) return true;
  const told = next.filter(counts);
  return (
    old.filter(counts).length === told.length &&
    told.every((condition) => {
      const held = conditionOf(old, condition.type);
      return held !== undefined && sameCondition(held, condition);
    })
  );
}

const sameCondition = (a: PodCondition, b: PodCondition): boolean =>
  a.status === b.status && (a.reason ?? '') === (b.reason ?? '') && (a.message ?? '') === (b.message ?? '');

/** Maps of quantities, compared by amount. */
const amountMaps: ReadonlySet<string> = new Set(['allocatedResources', 'limits', 'requests']);
/** Objects that Go keeps by value or as a map: there, empty is absent. */
const emptyIsAbsent: ReadonlySet<string> = new Set(['state', 'lastState', ...amountMaps]);
/** Scalars that Go keeps behind a pointer: there, zero is a value. */
const zeroIsValue: ReadonlySet<string> = new Set(['started', 'recursiveReadOnly', 'stopSignal']);

/** Are two JSON values the same to Go's eyes? Shared parts cost nothing. */
function same(a: unknown, b: unknown, key: string): boolean {
  if (a === b) return true;
  if (isObject(a) && isObject(b)) return sameObjects(a, b, key);
  if (isObject(a) || isObject(b)) return isNothing(a, key) && isNothing(b, key);
  return !zeroIsValue.has(key) && !a && !b;
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json | readonly unknown[] =>
  typeof value === 'object' && value !== null;

/** Of two values, one of them an object: is this one as good as absent? */
function isNothing(value: unknown, key: string): boolean {
  if (!isObject(value)) return true;
  if (Array.isArray(value)) return value.length === 0;
  return emptyIsAbsent.has(key) && Object.values(value).every((inner) => inner == null);
}

function sameObjects(a: Json | readonly unknown[], b: Json | readonly unknown[], key: string): boolean {
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i], key));
  if (amountMaps.has(key)) return sameAmounts(a as ResourceList, b as ResourceList);
  return sameMembers(a as Json, b as Json);
}

function sameMembers(a: Json, b: Json): boolean {
  for (const name in a) if (!same(a[name], b[name], name)) return false;
  for (const name in b) if (!Object.hasOwn(a, name) && !same(undefined, b[name], name)) return false;
  return true;
}

function sameAmounts(a: ResourceList, b: ResourceList): boolean {
  const amounts = Object.entries(a);
  if (amounts.length !== Object.keys(b).length) return false;
  return amounts.every(([name, amount]) => {
    const other = b[name];
    return other !== undefined && sameAmount(amount, other);
  });
}
