import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import type { ReconcileContext } from '../reconcile.ts';

/**
 * Returns the context of a reconcile that a test calls itself: without causes, with a logger that discards its lines and a signal that never
 * aborts.
 *
 * @param parts replace the defaults
 *
 * @example
 * const result = await reconciler.reconcile({ namespace: 'default', name: 'web' }, reconcileContext());
 */
export const reconcileContext = (parts: Partial<ReconcileContext> = {}): ReconcileContext => ({
  signal: new AbortController().signal,
  logger: silentLogger,
  reconcileID: systemRandom.uuid(),
  causes: [],
  ...parts,
});
