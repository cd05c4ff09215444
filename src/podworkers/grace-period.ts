import type { Pod } from '../kube/types.ts';

/** No termination has less (R103). */
export const minimumGracePeriodSeconds = 1;

/** What may shorten a grace period, seconds. */
export interface GracePeriodSources {
  /** In force so far; 0: none. */
  readonly current: number;
  readonly pod: Pod | undefined;
  /** Of the kill. */
  readonly override: number | undefined;
}

/**
 * The grace period of a termination: what is in force, then `metadata.deletionGracePeriodSeconds`, then the kill's own, each only where
 * nothing is in force or it is smaller. The spec's value counts only if none of the three said anything; an explicit 0 does say so.
 * At least 1 s (R101…R103).
 *
 * `shortened`: a period was in force and the new one differs, so a running step is to be cancelled (R104).
 *
 * Follows kubelet `calculateEffectiveGracePeriod`.
 */
export function effectiveGracePeriod({ current, pod, override }: GracePeriodSources): {
  readonly gracePeriodSeconds: number;
  readonly shortened: boolean;
} {
  const wishes = [pod?.metadata?.deletionGracePeriodSeconds, override].filter((wish) => wish !== undefined);
  const shortest = wishes.reduce((grace, wish) => (grace === 0 || wish < grace ? wish : grace), current);
  const fallback = pod?.spec?.terminationGracePeriodSeconds ?? 0;
  const wanted = current === 0 && wishes.length === 0 ? fallback : shortest;
  const gracePeriodSeconds = Math.max(wanted, minimumGracePeriodSeconds);
  return { gracePeriodSeconds, shortened: current !== 0 && current !== gracePeriodSeconds };
}
