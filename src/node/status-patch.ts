import { ownMember, setOwn } from '../base/own.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Node, NodeCondition, NodeStatus } from '../kube/types.ts';

type Json = Record<string, unknown>;

/**
 * True when anything changed except heartbeats. The order of conditions is ignored, and absent equals empty.
 *
 * Follows kubelet `nodeStatusHasChanged`.
 */
export function statusChanged(before: Node['status'], now: Node['status']): boolean {
  return !isDeepStrictEqual(comparable(before), comparable(now));
}

function comparable(status: Node['status']): unknown {
  const { conditions = [], ...rest } = status ?? {};
  const nonEmpty = Object.entries(rest).filter(([, value]) => !isEmpty(value));
  const still = conditions
    .map(({ lastHeartbeatTime: _at, ...condition }) => condition)
    .sort((a, b) => (a.type < b.type ? -1 : 1));
  return { rest: Object.fromEntries(nonEmpty), conditions: still };
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/**
 * Returns the strategic merge patch from one node to the next for status, annotations and labels; `undefined` when they are equal.
 * Conditions are merged by type with only their changed members; addresses are replaced as a whole.
 *
 * Follows kubelet `nodeutil.PatchNodeStatus`.
 */
export function nodeStatusPatch(before: Node, now: Node): object | undefined {
  const status = statusDiff(before.status ?? {}, now.status ?? {});
  const metadata = mapDiff(marksOf(before), marksOf(now));
  return status || metadata ? { ...(metadata && { metadata }), ...(status && { status }) } : undefined;
}

const marksOf = ({ metadata: { annotations = {}, labels = {} } = {} }: Node): object => ({
  annotations,
  labels,
});

function statusDiff(before: NodeStatus, now: NodeStatus): Json | undefined {
  const { conditions: oldConditions = [], addresses: oldAddresses = [], ...oldRest } = before;
  const { conditions = [], addresses, ...rest } = now;
  const moved = addresses !== undefined && !isDeepStrictEqual(oldAddresses, addresses);
  const diff: Json = {
    ...mapDiff(oldRest, rest),
    ...conditionsDiff(oldConditions, conditions),
    ...(moved && { addresses: [...addresses, { $patch: 'replace' }] }),
  };
  return Object.keys(diff).length > 0 ? diff : undefined;
}

function conditionsDiff(before: readonly NodeCondition[], now: readonly NodeCondition[]): Json {
  const changed = now.flatMap((condition): Json[] => {
    const old = before.find(({ type }) => type === condition.type);
    const diff = old ? mapDiff({ ...old }, { ...condition }) : { ...condition };
    return diff ? [{ ...diff, type: condition.type }] : [];
  });
  const gone = before.filter(({ type }) => !now.some((condition) => condition.type === type));
  if (changed.length === 0 && gone.length === 0) return {};
  return {
    '$setElementOrder/conditions': now.map(({ type }) => ({ type })),
    conditions: [...changed, ...gone.map(({ type }) => ({ $patch: 'delete', type }))],
  };
}

/** Returns a JSON merge patch: new and changed members, `null` for removed ones; lists are replaced as a whole. */
function mapDiff(before: object, now: object): Json | undefined {
  const old = before as Json;
  const diff: Json = {};
  for (const [name, value] of Object.entries(now) as [string, unknown][]) {
    const was = ownMember(old, name);
    if (isDeepStrictEqual(was, value)) continue;
    const inner = isObject(value) && isObject(was) ? mapDiff(was, value) : value;
    if (inner !== undefined) setOwn(diff, name, inner);
  }
  for (const name of Object.keys(old)) if (!Object.hasOwn(now, name)) setOwn(diff, name, null);
  return Object.keys(diff).length > 0 ? diff : undefined;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
