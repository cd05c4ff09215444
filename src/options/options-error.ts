import { AgentError } from '../base/errors.ts';
import type { Position } from '../go/yaml/document.ts';

/** One fault in the settings. */
export interface OptionFault extends Partial<Position> {
  /** The setting, e.g. `authentication.webhook.cacheTTL`; empty for the whole file. */
  readonly path: string;
  readonly value?: unknown;
  /** The fault, in the kubelet's words where it has a message. */
  readonly message: string;
  /** The allowed values. */
  readonly allowed?: string;
  /** File or flag of the value. */
  readonly from?: string;
}

/** Invalid settings, with all faults in `faults`. */
export class OptionsError extends AgentError {
  override readonly name: string = 'OptionsError';
  readonly faults: readonly OptionFault[];

  constructor(faults: readonly OptionFault[]) {
    super('invalid_argument', `settings: ${faults.map(formatFault).join('; ')}`);
    this.faults = faults;
  }
}

/** Formats a fault as one line: where, what, and what is allowed. */
export function formatFault({ path, value, message, allowed, from, line, column }: OptionFault): string {
  const place = [from, line, column].filter((part) => part !== undefined).join(':');
  const shown = value === undefined ? '' : ` = ${clip(JSON.stringify(value))}`;
  const head = [place, path && `${path}${shown}`].filter(Boolean).join(' ');
  return `${head ? `${head}: ` : ''}${message}${allowed === undefined ? '' : ` (allowed: ${allowed})`}`;
}

const clip = (text: string): string => (text.length > 120 ? `${text.slice(0, 120)}…` : text);
