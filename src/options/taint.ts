import type { Taint } from './kubelet-configuration.ts';

const effects: readonly string[] = ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a taint's key, value and effect are well formed. Kubelet `CheckTaintValidation`. */
export function isValidTaint({ key, value = '', effect }: Taint): boolean {
  return isQualifiedName(key) && isLabelValue(value) && effects.includes(effect);
}

/** `[prefix/]name`, as label and taint keys are written. */
export function isQualifiedName(text: string): boolean {
  const parts = text.split('/');
  if (parts.length > 2) return false;
  const name = parts.at(-1) ?? '';
  const prefix = parts.length === 2 ? parts[0] : undefined;
  return (
    name.length <= 63 &&
    namePart.test(name) &&
    (prefix === undefined || (prefix.length <= 253 && subdomain.test(prefix)))
  );
}

/** Empty, or up to 63 letters, digits, `-`, `_` and `.`, not at the ends. */
export const isLabelValue = (text: string): boolean =>
  text === '' || (text.length <= 63 && namePart.test(text));

/**
 * A taint as flags write it: `key=value:effect`, `key:effect` or `key`.
 *
 * @returns the fault as text when it is none
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
