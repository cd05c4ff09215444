import { parseDuration } from '../../kube/duration.ts';
import { isGateOn } from './feature-gates.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';

/** Facts about the agent that rules depend on. */
export interface RuleContext {
  /** The Kubernetes version that the agent follows. */
  readonly version: { readonly major: number; readonly minor: number };
  readonly logFormats: readonly string[];
}

/** A validation rule: the setting it checks, and its fault in the kubelet's words. */
export interface Rule {
  readonly path: string;
  readonly broken: (
    config: KubeletConfiguration,
    context: RuleContext,
  ) => string | readonly string[] | undefined;
}

/** Reports whether a feature gate is on with these settings. */
export const gate = (config: KubeletConfiguration, name: string): boolean =>
  isGateOn(name, config.featureGates);

/** Returns a duration of decoded settings in nanoseconds; a number already is in nanoseconds. */
export function nanosOf(span: string | number | undefined): bigint {
  if (typeof span === 'number') return BigInt(span);
  const nanos = parseDuration(span ?? '0s');
  return typeof nanos === 'bigint' ? nanos : 0n;
}

export const second = 1_000_000_000n;

type Numeric = {
  [K in keyof KubeletConfiguration]-?: KubeletConfiguration[K] extends number | undefined ? K : never;
}[keyof KubeletConfiguration];

/** Returns the rule that a number is between two bounds; with `zeroIsOff`, 0 is allowed too. */
export function between(
  path: Numeric,
  flag: string,
  [least, most]: readonly [number, number],
  zeroIsOff?: { readonly shown: number },
): Rule {
  return {
    path,
    broken: (config) => {
      const value = config[path] ?? 0;
      if ((value >= least && value <= most) || (zeroIsOff && value === 0)) return undefined;
      return `invalid configuration: ${path} (--${flag}) ${value} must be between ${zeroIsOff?.shown ?? least} and ${most}, inclusive`;
    },
  };
}

/** Returns the rule that a number is not negative. */
export function notNegative(path: Numeric, flag: string): Rule {
  return {
    path,
    broken: (config) => {
      const value = config[path] ?? 0;
      return value < 0
        ? `invalid configuration: ${path} (--${flag}) ${value} must not be a negative number`
        : undefined;
    },
  };
}

/** Returns a rule from a condition and its message. */
export function when(
  path: string,
  broken: (config: KubeletConfiguration) => boolean,
  message: string | ((config: KubeletConfiguration) => string),
): Rule {
  return {
    path,
    broken: (config) =>
      broken(config)
        ? `invalid configuration: ${typeof message === 'string' ? message : message(config)}`
        : undefined,
  };
}
