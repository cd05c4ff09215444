import type { PodCondition, PodStatus } from '../kube/types.ts';
import { isOwnCondition, isSharedCondition } from './condition-list.ts';
import { sameAmount } from './container-resources.ts';

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

const counts = ({ type }: PodCondition): boolean => isOwnCondition(type) || isSharedCondition(type);

function sameConditions(old: readonly PodCondition[], next: readonly PodCondition[]): boolean {
  if (old === next) return true;
  let [before, after] = [0, 0];
  for (const condition of old) if (counts(condition)) before++;
  for (const condition of next) {
    if (!counts(condition)) continue;
    after++;
    const held = old[after - 1]?.type === condition.type ? old[after - 1] : find(old, condition.type);
    if (!held || !sameCondition(held, condition)) return false;
  }
  return before === after;
}

const find = (list: readonly PodCondition[], type: string): PodCondition | undefined =>
  list.find((condition) => condition.type === type);

const sameCondition = (a: PodCondition, b: PodCondition): boolean =>
  a.status === b.status && (a.reason ?? '') === (b.reason ?? '') && (a.message ?? '') === (b.message ?? '');

/** Objects that Go keeps by value or as a map: there, empty is absent. */
const emptyIsAbsent: ReadonlySet<string> = new Set([
  'state',
  'lastState',
  'allocatedResources',
  'limits',
  'requests',
]);
/** Scalars that Go keeps behind a pointer: there, zero is a value. */
const zeroIsValue: ReadonlySet<string> = new Set(['started', 'recursiveReadOnly', 'stopSignal']);
/** Maps of quantities, compared by amount. */
const amountMaps: ReadonlySet<string> = new Set(['allocatedResources', 'limits', 'requests']);

/** Are two JSON values the same to Go's eyes? Shared parts cost nothing. */
function same(a: unknown, b: unknown, key: string): boolean {
  if (a === b) return true;
  if (isObject(a) && isObject(b)) return sameObjects(a, b, key);
  if (isObject(a) || isObject(b)) return isNothing(a, key) && isNothing(b, key);
  if (zeroIsValue.has(key)) return (a ?? undefined) === (b ?? undefined);
  return isZero(a) && isZero(b);
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json | readonly unknown[] =>
  typeof value === 'object' && value !== null;

const isZero = (value: unknown): boolean => value === undefined || value === null || !value;

function isNothing(value: unknown, key: string): boolean {
  if (!isObject(value)) return value === undefined || value === null;
  if (Array.isArray(value)) return value.length === 0;
  return (
    emptyIsAbsent.has(key) && Object.values(value).every((inner) => inner === undefined || inner === null)
  );
}

function sameObjects(a: Json | readonly unknown[], b: Json | readonly unknown[], key: string): boolean {
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i], key));
  if (amountMaps.has(key)) return sameAmounts(a as Json, b as Json);
  return sameMembers(a as Json, b as Json);
}

function sameMembers(a: Json, b: Json): boolean {
  for (const name in a) if (!same(a[name], b[name], name)) return false;
  for (const name in b) if (!(name in a) && !same(undefined, b[name], name)) return false;
  return true;
}

function sameAmounts(a: Json, b: Json): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => {
    const [left, right] = [a[name], b[name]];
    return typeof left === 'string' && typeof right === 'string' && sameAmount(left, right);
  });
}
