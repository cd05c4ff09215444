import { type Draft, type JsonObject, listAt, objectAt, sameJson, valueAt } from '../../apimachinery/json.ts';
import { seconds } from '../../apimachinery/times.ts';

/** Options of a DELETE. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Orphan' | 'Background' | 'Foreground';
}

/** Returns the object with the next generation, for kinds with one. */
export function bump(object: JsonObject): JsonObject {
  const generation = valueAt(object, 'metadata', 'generation');
  return typeof generation === 'number' ? { generation: generation + 1 } : {};
}

const policyFinalizers: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion']);

/**
 * Returns the finalizers of an object that is being deleted, including that of the propagation policy (A3).
 *
 * @param orphans whether dependents are orphaned where neither the request nor a finalizer names a policy
 */
export function finalizersFor(object: JsonObject, { propagation }: DeleteOptions, orphans = false): string[] {
  const standing = listAt(objectAt(object, 'metadata'), 'finalizers') as readonly string[];
  const others = standing.filter((finalizer) => !policyFinalizers.has(finalizer));
  if (propagation === undefined)
    return orphans && others.length === standing.length ? [...standing, 'orphan'] : [...standing];
  if (propagation === 'Orphan') return [...others, 'orphan'];
  return propagation === 'Foreground' ? [...others, 'foregroundDeletion'] : others;
}

/** The metadata changes of a graceful deletion; `over`: nothing holds the object any more. */
interface Mark {
  readonly changes: JsonObject;
  readonly over: boolean;
}

/**
 * Marks an object for deletion, or shortens the grace period of a marked one (A2): a longer one changes nothing.
 *
 * @param grace grace period in seconds of an object that is not marked yet
 */
export function gracefully(object: JsonObject, options: DeleteOptions, grace: number, now: number): Mark {
  const finalizers = finalizersFor(object, options);
  const metadata = objectAt(object, 'metadata');
  const changes: Draft = {};
  if (!sameJson(finalizers, listAt(metadata, 'finalizers')))
    changes['finalizers'] = finalizers.length > 0 ? finalizers : undefined;
  const standing = metadata['deletionTimestamp'];
  const dated =
    typeof standing === 'string'
      ? shortened(metadata, Date.parse(standing), options.gracePeriodSeconds, finalizers.length > 0)
      : {
          deletionTimestamp: seconds(now + grace * 1000),
          ...bump(object),
          deletionGracePeriodSeconds: grace,
        };
  if (!dated) return { changes, over: false };
  return {
    changes: { ...changes, ...dated },
    over: dated.deletionGracePeriodSeconds === 0 && finalizers.length === 0,
  };
}

function shortened(
  metadata: JsonObject,
  endsAt: number,
  requested: number | undefined,
  isHeld: boolean,
): { readonly deletionTimestamp: string; readonly deletionGracePeriodSeconds: number } | undefined {
  const before = Number(metadata['deletionGracePeriodSeconds'] ?? 0);
  const grace = requested === undefined ? before : Math.max(0, requested);
  if (grace >= before && (before > 0 || isHeld)) return undefined;
  return {
    deletionTimestamp: seconds(endsAt - before * 1000 + grace * 1000),
    deletionGracePeriodSeconds: grace,
  };
}

/** Reports whether a marked object has no grace period and no finalizers left: its next write removes it. */
export const isFree = (object: JsonObject): boolean =>
  valueAt(object, 'metadata', 'deletionTimestamp') !== undefined &&
  listAt(objectAt(object, 'metadata'), 'finalizers').length === 0 &&
  (valueAt(object, 'metadata', 'deletionGracePeriodSeconds') ?? 0) === 0 &&
  listAt(objectAt(object, 'spec'), 'finalizers').length === 0;
