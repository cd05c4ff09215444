import { type BackoffOptions, crashLoopBackoff } from '../base/backoff.ts';
import { durationMs } from '../kube/duration.ts';
import { isGateOn } from '../options/kubelet/feature-gates.ts';
import type { EffectiveOptions } from '../options/load.ts';

/** The KubeletConfiguration settings of the crash loop back-off. */
export type CrashSettings = Pick<EffectiveOptions['kubelet'], 'crashLoopBackOff' | 'featureGates'>;

/** Returns the back-off between restarts: settings take precedence over feature gates. Follows kubelet `newCrashLoopBackOff`. */
export function crashBackOffOf({ crashLoopBackOff, featureGates }: CrashSettings): BackoffOptions {
  const { initialMs, maxMs, expiryMs } = isGateOn('ReduceDefaultCrashLoopBackOffDecay', featureGates)
    ? { ...crashLoopBackoff, initialMs: 1000, maxMs: 60_000 }
    : crashLoopBackoff;
  const set = isGateOn('KubeletCrashLoopBackOffMax', featureGates)
    ? durationMs(crashLoopBackOff.maxContainerRestartPeriod)
    : maxMs;
  return { initialMs: Math.min(initialMs, set), maxMs: set, expiryMs };
}
