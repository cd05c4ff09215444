import { concatWith, defer, filter, ignoreElements, Observable, take } from 'rxjs';
import type { Clock } from '../base/clock.ts';
import type { Pod } from '../kube/types.ts';
import type { SnapshotChanges, SourceSnapshot } from './pod-update.ts';
import { every } from './timing.ts';

/** All pods, or a function that lists them: a consumer that also receives the changes needs the list only once. */
export type Listed = readonly Pod[] | (() => readonly Pod[]);

/** The pods of this node as a watch keeps them: field selector `spec.nodeName=<node>`, all namespaces, by namespace and name (R17, R18). */
export interface PodStore {
  /**
   * Calls `listener` with the whole store once the first list is complete and after every later event, then also with the changes. The
   * watch starts with the first listener; the returned function ends it.
   */
  onChange(listener: (pods: Listed, changes?: SnapshotChanges) => void): () => void;
}

export interface ApiServerSourceDeps {
  readonly clock: Pick<Clock, 'timer'>;
  readonly pods: PodStore;
  /** Reports whether the informer of this Node has synced, which admission needs. True without such an informer. */
  readonly nodeHasSynced: () => boolean;
}

/** Poll interval of the node informer, ms: a check costs nothing, and new pods wait for it after a restart. */
const nodePollMs = 50;

/**
 * Returns the pods that the API server assigns to this node, once the Node informer has synced (R17); the whole store after each event
 * (R18).
 *
 * @example
 * config.addSource('api', apiServerSource({ clock, pods: informer, nodeHasSynced: () => nodes.synced }));
 */
export function apiServerSource({
  clock,
  pods,
  nodeHasSynced,
}: ApiServerSourceDeps): Observable<SourceSnapshot> {
  const nodeSynced = defer(() => every(clock, nodePollMs)).pipe(
    filter(nodeHasSynced),
    take(1),
    ignoreElements(),
  );
  const snapshots = new Observable<SourceSnapshot>((listener) =>
    pods.onChange((whole, changes) => {
      listener.next({
        source: 'api',
        get pods() {
          return typeof whole === 'function' ? whole() : whole;
        },
        ...(changes && { changes }),
      });
    }),
  );
  return nodeSynced.pipe(concatWith(snapshots));
}
