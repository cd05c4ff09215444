import { labelValueRule, qualifiedNameRule } from '../../kube/validation/name-rules.ts';
import type { Taint } from './kubelet-configuration.ts';

const effects: readonly string[] = ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Reports whether a taint's key, value and effect are well formed. Kubelet `CheckTaintValidation`. */
export function isValidTaint({ key, value = '', effect }: Taint): boolean {
  return [...qualifiedNameRule(key), ...labelValueRule(value)].length === 0 && effects.includes(effect);
}

/**
 * Parses a taint as written in flags: `key=value:effect`, `key:effect` or `key`.
 *
 * @returns the fault as text when it is invalid
 */
export function parseTaint(text: string): Taint | string {
  const [left = '', effect = '', ...rest] = text.split(':');
  const [key = '', value, ...more] = left.split('=');
  const taint: Taint = { key, ...(value !== undefined && { value }), effect };
  const whole = rest.length === 0 && more.length === 0 && effect !== '';
  return whole && isValidTaint(taint)
    ? taint
    : `invalid taint spec: ${text}, want key[=value]:effect with effect NoSchedule, PreferNoSchedule or NoExecute`;
}
