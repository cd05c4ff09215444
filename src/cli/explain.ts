import { decodeKubeletConfiguration } from '../options/decode.ts';
import { withDefaults } from '../options/defaults.ts';
import { exitCodes } from './exit-codes.ts';
import type { ExplainOptions } from './program.ts';
import { readConfiguration } from './validate.ts';

/** One setting: its path, its value as JSON text, and where that came from. */
export interface Explained {
  readonly path: string;
  readonly value: unknown;
  /** `default`, or `FILE:LINE`. */
  readonly from: string;
}

/** The effective settings of a configuration text, or of none, in the order of their paths. */
export function effectiveSettings(text: string | undefined, file: string): readonly Explained[] {
  const decoded = text === undefined ? undefined : decodeKubeletConfiguration(text);
  const config: unknown = decoded?.config ?? withDefaults({});
  return flatten(config, [])
    .filter(({ path }) => path[0] !== 'apiVersion' && path[0] !== 'kind')
    .map(({ path, value }) => {
      const given = decoded !== undefined && isGiven(decoded.given, path);
      const line = given ? decoded.locate(path)?.line : undefined;
      const place = line === undefined ? file : `${file}:${line}`;
      return { path: path.join('.'), value, from: given ? place : 'default' };
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * Prints the effective settings and where each came from.
 *
 * @throws {AgentError} `invalid_argument` the file cannot be read or used
 */
export function explain(options: ExplainOptions, say: (line: string) => unknown): number {
  const { config, path = '', output } = options;
  const text = config === undefined ? undefined : readConfiguration(config);
  const shown = effectiveSettings(text, config ?? '').filter((each) => isBelow(each.path, path));
  if (output === 'json') for (const each of shown) say(JSON.stringify(each));
  else {
    const width = Math.max(0, ...shown.map((each) => each.path.length));
    for (const { path: at, value, from } of shown)
      say(`${at.padEnd(width)}  ${JSON.stringify(value)}  (${from})`);
  }
  if (shown.length > 0) return exitCodes.ok;
  say(`there is no setting ${path}`);
  return exitCodes.invalid;
}

interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Objects are walked into, all else is one value; an empty object too. */
function flatten(value: unknown, path: readonly string[]): readonly Leaf[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ path, value }];
  const entries = Object.entries(value);
  if (entries.length === 0) return [{ path, value }];
  return entries.flatMap(([key, inner]) => flatten(inner, [...path, key]));
}

function isGiven(given: unknown, path: readonly string[]): boolean {
  const [head, ...rest] = path;
  if (head === undefined) return given !== undefined;
  if (typeof given !== 'object' || given === null || !(head in given)) return false;
  return isGiven((given as Readonly<Record<string, unknown>>)[head], rest);
}

function isBelow(path: string, wanted: string): boolean {
  return wanted === '' || path === wanted || path.startsWith(`${wanted}.`);
}
