import type { Container, Pod } from '../../kube/types.ts';

/** Why one container is killed; empty: its definition or resources changed. */
export type KillReason = '' | 'Unknown' | 'LivenessProbe' | 'StartupProbe' | 'FailedPostStartHook';

/** No container gets less time than this between the stop signal and the kill, seconds. */
export const minimumGracePeriodSeconds = 2;

/**
 * The grace of a kill in seconds, before any override and without a floor (R164): the deletion's, else the failed probe's
 * own in place of the spec's, else the spec's, else 2. Follows `setTerminationGracePeriod`.
 */
export function terminationGracePeriod(
  pod: Pod,
  container: Pick<Container, 'livenessProbe' | 'startupProbe'>,
  reason: KillReason,
): number {
  const deletion = pod.metadata?.deletionGracePeriodSeconds;
  if (deletion !== undefined) return deletion;
  const spec = pod.spec?.terminationGracePeriodSeconds;
  if (spec === undefined) return minimumGracePeriodSeconds;
  return probeGracePeriod(container, reason) ?? spec;
}

function probeGracePeriod(
  { livenessProbe, startupProbe }: Pick<Container, 'livenessProbe' | 'startupProbe'>,
  reason: KillReason,
): number | undefined {
  if (reason === 'LivenessProbe') return livenessProbe?.terminationGracePeriodSeconds;
  if (reason === 'StartupProbe') return startupProbe?.terminationGracePeriodSeconds;
  return undefined;
}

/** The time-out given to the runtime when nothing of the grace is spent before: override or base, at least 2 s. */
export const stopTimeout = (graceSeconds: number): number =>
  Math.max(minimumGracePeriodSeconds, graceSeconds);
