import { sameAmount } from '../kube/resources/quantity.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { PodCondition, PodStatus } from '../kube/types.ts';
import { conditionOf, isOwnCondition, isSharedCondition } from './condition-list.ts';

/** The fields of a pod status that the kubelet writes, besides its conditions. */
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
 * True when two normalized statuses are equal in everything that the kubelet writes. Times of conditions are ignored, as are conditions and
 * resource claims of other writers (R188).
 *
 * Follows kubelet `isPodStatusByKubeletEqual`.
 */
export function isPodStatusByKubeletEqual(old: PodStatus, status: PodStatus): boolean {
  if (old === status) return true;
  if (!sameConditions(old.conditions ?? [], status.conditions ?? [])) return false;
  for (const field of ownFields) if (!same(old[field], status[field], field)) return false;
  return true;
}

/** True when two statuses are equal in every field, by Go's rules (an absent field equals its zero value). */
export const saysTheSame = (a: PodStatus, b: PodStatus): boolean => same(a, b, 'status');

const counts = ({ type }: PodCondition): boolean => isOwnCondition(type) || isSharedCondition(type);

function sameConditions(old: readonly PodCondition[], next: readonly PodCondition[]): boolean {
  if (old === next) return true;
  const counted = next.filter(counts);
  return (
    old.filter(counts).length === counted.length &&
    counted.every((condition) => {
      const previous = conditionOf(old, condition.type);
      return previous !== undefined && sameCondition(previous, condition);
    })
  );
}

const sameCondition = (a: PodCondition, b: PodCondition): boolean =>
  a.status === b.status && (a.reason ?? '') === (b.reason ?? '') && (a.message ?? '') === (b.message ?? '');

/** The fields that map names to quantities; they are compared by amount. */
const amountMaps: ReadonlySet<string> = new Set(['allocatedResources', 'limits', 'requests']);
/** The fields that Go holds by value or as a map: an empty object equals an absent one. */
const emptyIsAbsent: ReadonlySet<string> = new Set(['state', 'lastState', ...amountMaps]);
/** The scalars that Go holds behind a pointer: zero differs from absent. */
const zeroIsValue: ReadonlySet<string> = new Set(['started', 'recursiveReadOnly', 'stopSignal']);

/** True when two JSON values are equal by Go's rules. Identical references are not compared further. */
function same(a: unknown, b: unknown, key: string): boolean {
  if (a === b) return true;
  if (isObject(a) && isObject(b)) return sameObjects(a, b, key);
  if (isObject(a) || isObject(b)) return isNothing(a, key) && isNothing(b, key);
  return !zeroIsValue.has(key) && !a && !b;
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json | readonly unknown[] =>
  typeof value === 'object' && value !== null;

/** True when a value that is compared with an object equals an absent one. */
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
