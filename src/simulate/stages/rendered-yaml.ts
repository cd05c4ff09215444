import { parse } from 'yaml';

/** Times and IPv4 addresses: what differs among the texts that a template yields for similar objects. */
const changing = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g;

/** The number of distinct values for which there are stand-ins. */
const mostValues = 60;
const mostTexts = 512;
/** Longer texts are not kept, in characters. */
const longestText = 8192;

/**
 * RenderedYaml parses the YAML that templates yield. Texts that differ in times and IPv4 addresses only are parsed once: thousands of pods of
 * one Deployment get statuses that differ in nothing else, and parsing takes longer than all else that a stage does.
 */
export class RenderedYaml {
  /** Parsed texts by the text with stand-ins. */
  readonly #parsed = new Map<string, unknown>();

  /** Returns the value of a text; the caller owns it. @throws {Error} for text that is not YAML */
  parse(text: string): unknown {
    if (text.length > longestText) return parse(text);
    const values: string[] = [];
    const key = text.replace(changing, (value) => {
      const at = values.indexOf(value);
      return standIn(value, at < 0 ? values.push(value) - 1 : at);
    });
    if (values.length > mostValues) return parse(text);
    if (!this.#parsed.has(key)) {
      if (this.#parsed.size >= mostTexts) this.#parsed.clear();
      this.#parsed.set(key, parse(key));
    }
    return withValues(this.#parsed.get(key), values);
  }
}

/** Returns a value of the same form that tells its number, so that YAML reads both as the same kind of scalar. */
const standIn = (value: string, at: number): string =>
  value.includes('T') ? `0000-00-00T00:00:${String(at).padStart(2, '0')}Z` : `0.0.0.${at}`;

/** Returns a copy with the values in place of their stand-ins. */
function withValues(value: unknown, values: readonly string[]): unknown {
  if (typeof value === 'string') return filled(value, values);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((member) => withValues(member, values));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [filled(key, values), withValues(member, values)]),
  );
}

const filled = (text: string, values: readonly string[]): string =>
  text.replace(changing, (found) => values[Number(/(\d+)Z?$/.exec(found)?.[1])] ?? found);
