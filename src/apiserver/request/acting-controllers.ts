import type { Kind } from '../../apimachinery/kinds.ts';

/** Kinds that have no effect without a controller. */
const needingController: ReadonlySet<string> = new Set([
  'apps/deployments',
  'apps/replicasets',
  'apps/statefulsets',
  'apps/daemonsets',
  '/replicationcontrollers',
  'batch/jobs',
  'batch/cronjobs',
  'autoscaling/horizontalpodautoscalers',
]);

const keyOf = ({ group, resource }: Pick<Kind, 'group' | 'resource'>): string => `${group}/${resource}`;

/**
 * ActingControllers records for which kinds a controller runs. A client that creates an object of a workload kind without one receives a
 * warning.
 *
 * @example
 * world.acting.declare({ group: 'apps', resource: 'deployments' }); // when the controller starts
 */
export class ActingControllers {
  readonly #acting = new Set<string>();
  readonly #all: boolean;

  /** @param all whether controllers of every kind run, in this server or beside it */
  constructor(all = false) {
    this.#all = all;
  }

  /** Declares that a controller for the kind runs; the returned function declares that it has stopped. */
  declare(kind: Pick<Kind, 'group' | 'resource'>): () => void {
    const key = keyOf(kind);
    this.#acting.add(key);
    return () => void this.#acting.delete(key);
  }

  /** Returns the warning for the creator of an object; `undefined`: a controller runs, or the kind needs none. */
  warningFor(kind: Kind): string | undefined {
    const key = keyOf(kind);
    if (this.#all || this.#acting.has(key) || !needingController.has(key)) return undefined;
    return `no controller for kind ${kind.kind} runs with this API server: the object is stored, but nothing acts on it`;
  }
}
