import { AgentError, messageOf } from '../../base/errors.ts';
import { compileTemplate, type Template } from '../../go/template/template.ts';
import type { Filter } from './jq-functions.ts';
import { compileJq } from './jq.ts';

/** Names of the functions of templates that depend on the object, its node and the time. */
export const contextNames: readonly string[] = [
  ...['Now', 'StartTime', 'Version', 'NodeIP', 'NodeIPWith', 'NodeName', 'NodePort', 'NodeConditions'],
  ...['PodIP', 'PodIPWith'],
];

/** An object as it was parsed. */
export type Raw = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** ObjectReader decodes the members of an object, and says where a value is that it cannot use. */
export class ObjectReader {
  readonly #raw: Raw;
  readonly #path: string;

  constructor(raw: Raw, path: string) {
    this.#raw = raw;
    this.#path = path;
  }

  get isEmpty(): boolean {
    return Object.keys(this.#raw).length === 0;
  }

  fault(key: string, problem: string): AgentError {
    return new AgentError('invalid_argument', `${this.#path}.${key}: ${problem}`);
  }

  object(key: string): ObjectReader {
    const value = this.#raw[key];
    if (value !== undefined && value !== null && !isRecord(value)) throw this.fault(key, 'must be an object');
    return new ObjectReader(isRecord(value) ? value : {}, `${this.#path}.${key}`);
  }

  objects(key: string): readonly ObjectReader[] {
    return this.#list(key).map((member, at) => {
      if (!isRecord(member)) throw this.fault(`${key}[${at}]`, 'must be an object');
      return new ObjectReader(member, `${this.#path}.${key}[${at}]`);
    });
  }

  text(key: string): string | undefined {
    const value = this.#raw[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') throw this.fault(key, 'must be a string');
    return value;
  }

  required(key: string): string {
    const value = this.text(key);
    if (value === undefined || value === '') throw this.fault(key, 'is required');
    return value;
  }

  choice<T extends string>(key: string, choices: readonly T[], fallback?: T): T {
    const value = this.text(key) ?? fallback;
    const found = choices.find((one) => one === value);
    if (found === undefined) throw this.fault(key, `must be one of ${choices.join(', ')}`);
    return found;
  }

  number(key: string): number | undefined {
    const value = this.#raw[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'number' || value < 0) throw this.fault(key, 'must be a number of at least 0');
    return value;
  }

  flag(key: string): boolean {
    const value = this.#raw[key] ?? false;
    if (typeof value !== 'boolean') throw this.fault(key, 'must be true or false');
    return value;
  }

  texts(key: string): readonly string[] {
    return this.#list(key).map((member) => String(member));
  }

  map(key: string): Readonly<Record<string, string>> {
    const value = this.#raw[key] ?? {};
    if (!isRecord(value)) throw this.fault(key, 'must be an object of strings');
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, String(member)]));
  }

  #list(key: string): readonly unknown[] {
    const value = this.#raw[key] ?? [];
    if (!Array.isArray(value)) throw this.fault(key, 'must be a list');
    return value as readonly unknown[];
  }

  /** Compiles an expression, and reports where a faulty one is. */
  expression(key: string): Filter | undefined {
    const text = this.text(key);
    return text === undefined ? undefined : this.#compiled(key, () => compileJq(text));
  }

  /** Decodes the text of a member. @param decode throws for a text that it cannot use */
  decoded<T>(key: string, decode: (text: string) => T): T | undefined {
    const text = this.text(key);
    return text === undefined ? undefined : this.#compiled(key, () => decode(text));
  }

  template(key: string): Template | undefined {
    const text = this.text(key);
    return text === undefined ? undefined : this.#compiled(key, () => compileTemplate(text, contextNames));
  }

  #compiled<T>(key: string, compile: () => T): T {
    try {
      return compile();
    } catch (reason) {
      throw this.fault(key, messageOf(reason));
    }
  }
}
