import { type Clock, every, type StopTimer } from '../../base/clock.ts';
import type { Store } from './store.ts';

/** How often old changes are discarded, ms: as kube-apiserver compacts etcd. */
const intervalMs = 5 * 60_000;

/**
 * Discards changes regularly: each time those that were there the time before already, so that a client has five to ten minutes to go on from
 * a version. Follows the compactor of apiserver's etcd3 storage.
 *
 * @returns a function that stops it
 */
export function compactRegularly(store: Pick<Store, 'version' | 'forget'>, clock: Clock): StopTimer {
  let before = store.version;
  return every(clock, intervalMs, () => {
    store.forget(before);
    before = store.version;
  });
}
