import { goFloat, isGoInteger } from '../../go/go-float.ts';
import { isObject } from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { sorted } from './sorted-value.ts';

/** A value that breaks its schema: where, and why. */
interface Finding {
  /** What tells it from others: each text counts once. */
  readonly text: string;
  /** Absent: it names no field. */
  readonly path?: string;
  readonly reason: FieldFault['reason'];
  readonly message: string;
}

/** Values with a fault and checks that passed, as validation finds them. Follows kube-openapi's `Result`. */
export class Findings {
  readonly #found = new Map<string, Finding>();
  /** How many checks passed; of several alternatives the one with the most is reported. */
  matches = 0;

  get size(): number {
    return this.#found.size;
  }

  #add(finding: Finding): void {
    if (!this.#found.has(finding.text)) this.#found.set(finding.text, finding);
  }

  /** Adds a fault of a value. @param text the whole text where messages leave it out */
  add(
    path: string,
    { reason, message }: Pick<FieldFault, 'reason' | 'message'>,
    text: string = message,
  ): void {
    this.#add({ text: `${path} ${text}`, path, reason, message });
  }

  /** Adds a fault that says itself where it is, and names no field. */
  say(why: string): void {
    const { reason, message } = fault.invalid('', '', why);
    this.#add({ text: why, reason, message });
  }

  merge(other: Findings): void {
    for (const finding of other.#found.values()) this.#add(finding);
    this.matches += other.matches;
  }

  /** Drops what was found after the first `size` findings. */
  cut(size: number): void {
    for (const text of [...this.#found.keys()].slice(size)) this.#found.delete(text);
  }

  /** Returns the faults. @param prefix path of the value in the object */
  faults(prefix: string): readonly FieldFault[] {
    return [...this.#found.values()].map(({ path = '', reason, message }) => ({
      reason,
      field: [prefix, path.replace(/^\./, '')].filter((part) => part !== '').join('.') || '<nil>',
      message,
    }));
  }
}

/** Returns the fault of a value that is none of those listed. */
export function unlisted(value: unknown, listed: readonly string[]): FieldFault {
  const { message, ...rest } = fault.unsupported('', value, listed);
  const isFloat = typeof value === 'number' && !isGoInteger(value);
  return {
    ...rest,
    message: isFloat ? message.replace(JSON.stringify(value), goFloat(value)) : message,
  };
}

/** Returns the fault of a value, which is shown as Go prints it: a float64 with an exponent. */
export function badValue(value: unknown, why: string, isFloat = false): FieldFault {
  if (typeof value === 'number' && (isFloat || !isGoInteger(value)))
    return { reason: 'FieldValueInvalid', field: '', message: `Invalid value: ${goFloat(value)}: ${why}` };
  return fault.invalid('', isObject(value) || Array.isArray(value) ? sorted(value) : value, why);
}
