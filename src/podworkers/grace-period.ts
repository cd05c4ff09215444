import type { Pod } from '../kube/types.ts';

/** The shortest grace period of any termination, seconds (R103). */
export const minimumGracePeriodSeconds = 1;

/** The inputs of {@link effectiveGracePeriod}, seconds. */
export interface GracePeriodSources {
  /** The grace period in force so far; 0 when there is none. */
  readonly current: number;
  readonly pod: Pod | undefined;
  /** The kill's own grace period. */
  readonly override: number | undefined;
}

/**
 * Computes the grace period of a termination. It starts from the period in force; `metadata.deletionGracePeriodSeconds` and then the kill's
 * override replace it where none is in force or where they are shorter. The spec's `terminationGracePeriodSeconds` applies only when none
 * of the three is set (an explicit 0 counts as set). The result is at least 1 s (R101…R103).
 *
 * `shortened` is true when a period was in force and the new one differs: the step in flight must then be cancelled (R104).
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
  const seconds = current === 0 && wishes.length === 0 ? fallback : shortest;
  const gracePeriodSeconds = Math.max(seconds, minimumGracePeriodSeconds);
  return { gracePeriodSeconds, shortened: current !== 0 && current !== gracePeriodSeconds };
}
