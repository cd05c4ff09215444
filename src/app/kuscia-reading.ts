import { AgentError } from '../base/errors.ts';

/** The members of a map. */
export type Fields = Readonly<Record<string, unknown>>;

/** Collects flags, and names what was not used of a section. */
export class Reading {
  readonly flags: string[] = [];
  readonly notes: string[] = [];

  /** Adds a flag for a value that is set. */
  flag(name: string, value: unknown): void {
    if (value === undefined || value === null || value === '') return;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      throw new AgentError('invalid_argument', `the value for --${name} must be a text or a number`);
    this.flags.push(`--${name}=${String(value)}`);
  }

  /** Adds flags for the members of a section by their names. `''`: a member that is read elsewhere; `!` and a sentence: why it has no flag. */
  section(path: string, value: unknown, names: Readonly<Record<string, string>>): Fields {
    const fields = fieldsOf(path, value);
    for (const [key, one] of Object.entries(fields)) {
      const name = Object.hasOwn(names, key) ? names[key] : undefined;
      const where = path === '' ? key : `${path}.${key}`;
      if (name === undefined) this.notes.push(`${where}: has no meaning here`);
      else if (name.startsWith('!')) this.notes.push(`${where}: ${name.slice(1)}`);
      else if (name !== '') this.flag(name, one);
    }
    return fields;
  }
}

/** Returns the members of a map; none when there is no value. @throws {AgentError} `invalid_argument` for something else */
export function fieldsOf(path: string, value: unknown): Fields {
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Fields;
  throw new AgentError('invalid_argument', `${path === '' ? 'the file' : path}: must be a map`);
}

/** Returns a member that is a text; `undefined` when there is none or it is empty. @throws {AgentError} `invalid_argument` */
export function textOf(fields: Fields, key: string, path: string): string | undefined {
  const value = fields[key];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new AgentError('invalid_argument', `${path}.${key}: must be a text`);
}

/** Returns a member that is an amount, a text or a number, as a text; `undefined` when there is none. @throws {AgentError} `invalid_argument` */
export function amountOf(fields: Fields, key: string, path: string): string | undefined {
  const value = fields[key];
  return typeof value === 'number' ? String(value) : textOf(fields, key, path);
}

/** Returns a member that is a list of texts. @throws {AgentError} `invalid_argument` */
export function textsOf(fields: Fields, key: string, path: string): readonly string[] {
  const value = fields[key] ?? [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new AgentError('invalid_argument', `${path}.${key}: must be a list of texts`);
}
