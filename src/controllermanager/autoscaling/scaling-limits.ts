import type { Autoscaler, ScalingRules } from './autoscaler-types.ts';

/** What an autoscaler remembers of its past. Times are ms since the epoch. */
export interface ScalingPast {
  readonly recommendations: readonly { readonly at: number; readonly replicas: number }[];
  /** Changes of the size; positive ones are increases. */
  readonly changes: readonly { readonly at: number; readonly change: number }[];
}

export const noPast: ScalingPast = { recommendations: [], changes: [] };

/** How long the highest recommendation counts (`--horizontal-pod-autoscaler-downscale-stabilization`), s. */
const downscaleSeconds = 300;

/** The longest time that a window or a period may have, ms. */
const longestMs = 3_600_000;

/** A cause of a condition. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
}

/** The size to scale to, and what goes into the conditions AbleToScale and ScalingLimited. */
export interface Normalized {
  readonly replicas: number;
  readonly able: Cause;
  readonly limited: Cause & { readonly status: 'True' | 'False' };
  readonly past: ScalingPast;
}

export interface Sizes {
  readonly current: number;
  /** What the metrics call for. */
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly now: number;
}

const steady: Cause = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
const downStabilized: Cause = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
};
const upStabilized: Cause = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
};
const withinRange: Cause = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};
const tooMany: Cause = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const tooFew: Cause = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const tooFast: Cause = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const tooSlow: Cause = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

/** The rules that the API server gives a behavior that leaves them out. */
const defaultRules = {
  up: {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [
      { type: 'Pods', value: 4, periodSeconds: 15 },
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ],
  },
  down: {
    stabilizationWindowSeconds: downscaleSeconds,
    selectPolicy: 'Max',
    policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
  },
};

/** Returns the size to scale to: what the metrics call for, held by recent recommendations, limits and the policies of the behavior. */
export function normalize(behavior: Behavior, sizes: Sizes, past: ScalingPast): Normalized {
  const { stable, cause } = behavior ? stabilized(behavior, sizes, past) : stabilizedDown(sizes, past);
  const { replicas, limit } = behavior
    ? ratedSize(behavior, { ...sizes, desired: stable }, past)
    : plainSize({ ...sizes, desired: stable });
  const recommendations = past.recommendations.filter(({ at }) => at > sizes.now - longestMs);
  return {
    replicas,
    able: stable === sizes.desired ? steady : cause,
    limited: { ...limit, status: replicas === stable ? 'False' : 'True' },
    past: { ...past, recommendations: [...recommendations, { at: sizes.now, replicas: sizes.desired }] },
  };
}

export type Behavior = NonNullable<Autoscaler['spec']>['behavior'];

interface Stable {
  readonly stable: number;
  readonly cause: Cause;
}

const recent = ({ recommendations }: ScalingPast, now: number, seconds: number): readonly number[] =>
  recommendations.filter(({ at }) => at > now - seconds * 1000).map(({ replicas }) => replicas);

const stabilizedDown = ({ desired, now }: Sizes, past: ScalingPast): Stable => ({
  stable: Math.max(desired, ...recent(past, now, downscaleSeconds)),
  cause: downStabilized,
});

function stabilized(
  behavior: NonNullable<Behavior>,
  { current, desired, now }: Sizes,
  past: ScalingPast,
): Stable {
  const [up, down] = [rulesOf(behavior.scaleUp, 'up'), rulesOf(behavior.scaleDown, 'down')];
  const lowest = Math.min(desired, ...recent(past, now, up.stabilizationWindowSeconds));
  const highest = Math.max(desired, ...recent(past, now, down.stabilizationWindowSeconds));
  return {
    stable: Math.min(Math.max(current, lowest), highest),
    cause: desired >= current ? upStabilized : downStabilized,
  };
}

interface FullRules {
  readonly stabilizationWindowSeconds: number;
  readonly selectPolicy: string;
  readonly policies: readonly {
    readonly type: string;
    readonly value: number;
    readonly periodSeconds: number;
  }[];
}

const rulesOf = (rules: ScalingRules | undefined, direction: 'up' | 'down'): FullRules => ({
  ...defaultRules[direction],
  ...rules,
});

interface Limited {
  readonly replicas: number;
  readonly limit: Cause;
}

/** Without a behavior the size may double, or grow to 4. */
function plainSize({ current, desired, min, max }: Sizes): Limited {
  const most = Math.max(2 * current, 4);
  if (desired < min) return { replicas: min, limit: tooFew };
  if (desired > Math.min(max, most))
    return { replicas: Math.min(max, most), limit: max > most ? tooFast : tooMany };
  return { replicas: desired, limit: withinRange };
}

/** With a behavior its policies limit the change in their periods. */
function ratedSize(behavior: NonNullable<Behavior>, sizes: Sizes, past: ScalingPast): Limited {
  const { current, desired, min, max } = sizes;
  if (desired > current) {
    const most = Math.max(current, policyLimit(rulesOf(behavior.scaleUp, 'up'), 'up', { sizes, past }));
    const limit = max > most ? tooFast : tooMany;
    if (desired > Math.min(max, most)) return { replicas: Math.min(max, most), limit };
  } else if (desired < current) {
    const least = Math.min(
      current,
      policyLimit(rulesOf(behavior.scaleDown, 'down'), 'down', { sizes, past }),
    );
    const limit = min < least ? tooSlow : tooFew;
    if (desired < Math.max(min, least)) return { replicas: Math.max(min, least), limit };
  }
  return { replicas: desired, limit: withinRange };
}

function policyLimit(
  { selectPolicy, policies }: FullRules,
  direction: 'up' | 'down',
  { sizes: { current, now }, past }: { readonly sizes: Sizes; readonly past: ScalingPast },
): number {
  if (selectPolicy === 'Disabled') return current;
  const limits = policies.map(({ type, value, periodSeconds }) => {
    const changed = past.changes
      .filter(({ at }) => at > now - periodSeconds * 1000)
      .reduce((sum, { change }) => sum + change, 0);
    const start = current - changed;
    if (type === 'Pods') return direction === 'up' ? start + value : start - value;
    return direction === 'up' ? Math.ceil(start * (1 + value / 100)) : Math.trunc(start * (1 - value / 100));
  });
  const takesHighest = (selectPolicy === 'Min') !== (direction === 'up');
  return takesHighest ? Math.max(...limits) : Math.min(...limits);
}

/** Returns the past after a change of the size. */
export const withChange = (past: ScalingPast, change: number, now: number): ScalingPast => ({
  ...past,
  changes: [...past.changes.filter(({ at }) => at > now - longestMs), { at: now, change }],
});
