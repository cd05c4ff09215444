import type { Container, Pod } from '../../kube/types.ts';

/** Why a container is killed; empty: its definition or resources changed. */
export type KillReason = '' | 'Unknown' | 'LivenessProbe' | 'StartupProbe' | 'FailedPostStartHook';

/** Minimum time between the stop signal and the kill, seconds. */
export const minimumGracePeriodSeconds = 2;

/**
 * Returns the grace period of a kill in seconds, before overrides and without the minimum (R164): the deletion's, otherwise the failed
 * probe's, otherwise the spec's, otherwise 2. Follows `setTerminationGracePeriod`.
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

/** Returns the stop timeout for the runtime in seconds when nothing of the grace period is spent yet; at least 2 s. */
export const stopTimeout = (graceSeconds: number): number =>
  Math.max(minimumGracePeriodSeconds, graceSeconds);
