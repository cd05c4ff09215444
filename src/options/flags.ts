import { tableOf } from '../base/own.ts';
import { agentFields } from './agent/fields.ts';
import type { Field, FieldType } from './field.ts';
import { kubeletFields } from './kubelet/kubelet-fields.ts';
import { parseTaint } from './kubelet/taint.ts';

/** The value of a flag on the command line: text, a boolean, or the texts of a repeated flag. */
export type FlagValue = string | boolean | number | readonly string[];

/** A flag and the setting that it sets. */
export interface FlagTarget {
  readonly flag: string;
  readonly path: readonly string[];
  readonly field: Field;
  /** The group of settings it belongs to. */
  readonly group: 'kubelet' | 'agent';
}

/** The kubelet's aliases of flags. */
const aliases: Readonly<Record<string, string>> = tableOf({
  manifests: 'pod-manifest-path',
  'node-name': 'hostname-override',
});

/** Every flag, by its name without dashes. */
export const flagTargets: ReadonlyMap<string, FlagTarget> = new Map(
  [...targetsIn(kubeletFields, [], 'kubelet'), ...targetsIn(agentFields, [], 'agent')].map((target) => [
    target.flag,
    target,
  ]),
);

function targetsIn(
  fields: Readonly<Record<string, Field>>,
  above: readonly string[],
  group: FlagTarget['group'],
): FlagTarget[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const path = [...above, name];
    const own = field.flag === undefined ? [] : [{ flag: field.flag, path, field, group }];
    const { type } = field;
    return typeof type === 'object' && 'fields' in type
      ? [...own, ...targetsIn(type.fields, path, group)]
      : own;
  });
}

/** Returns the flag of a name in dashes or camel case, or of an alias. */
export function flagNamed(name: string): FlagTarget | undefined {
  const dashed = name.replace(/^-+/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return flagTargets.get(aliases[dashed] ?? dashed);
}

/**
 * Parses the value of a flag as the kubelet does.
 *
 * @returns the value, still to be validated by the schema, or a fault
 */
export function parseFlag(
  field: Field,
  input: FlagValue,
): { readonly value: unknown } | { readonly fault: string } {
  const { type } = field;
  if (typeof type === 'object') return parseStructs(type, textsOf(input));
  const parse = parsers[type];
  return parse(input);
}

type Parsed = { readonly value: unknown } | { readonly fault: string };

const textsOf = (input: FlagValue): readonly string[] =>
  (typeof input === 'object' ? input : [String(input)]).flatMap((text) => text.split(','));

const wordOf = (input: FlagValue): string =>
  typeof input === 'object' ? (input.at(-1) ?? '') : String(input);

function parseNumber(input: FlagValue): Parsed {
  const text = wordOf(input).trim();
  const value = Number(text);
  return text === '' || Number.isNaN(value)
    ? { fault: `${JSON.stringify(text)} is not a number` }
    : { value };
}

function parseBool(input: FlagValue): Parsed {
  const text = wordOf(input).toLowerCase();
  if (['true', 't', '1'].includes(text)) return { value: true };
  if (['false', 'f', '0'].includes(text)) return { value: false };
  return { fault: `${JSON.stringify(text)} is neither true nor false` };
}

/** Parses `key=value` pairs; thresholds are written `signal<amount`. */
function parsePairs(input: FlagValue, separator = /[=<]/): readonly (readonly [string, string])[] | string {
  const pairs: (readonly [string, string])[] = [];
  for (const text of textsOf(input).filter((one) => one.trim() !== '')) {
    const at = text.search(separator);
    if (at <= 0) return `${JSON.stringify(text)} is not key=value`;
    pairs.push([text.slice(0, at).trim(), text.slice(at + 1).trim()]);
  }
  return pairs;
}

function parseMap(input: FlagValue): Parsed {
  const pairs = parsePairs(input);
  return typeof pairs === 'string' ? { fault: pairs } : { value: Object.fromEntries(pairs) };
}

function parseSwitches(input: FlagValue): Parsed {
  const pairs = parsePairs(input);
  if (typeof pairs === 'string') return { fault: pairs };
  const odd = pairs.find(([, value]) => 'fault' in parseBool(value));
  if (odd) return { fault: `${odd[0]}: ${JSON.stringify(odd[1])} is neither true nor false` };
  return {
    value: Object.fromEntries(
      pairs.map(([key, value]) => [key, value.toLowerCase().startsWith('t') || value === '1']),
    ),
  };
}

/** Parses HTTP headers: `Name:value`, where names may repeat. */
function parseHeaders(input: FlagValue): Parsed {
  const pairs = parsePairs(input, /:/);
  if (typeof pairs === 'string') return { fault: pairs.replace('key=value', 'Name:value') };
  const headers = new Map<string, string[]>();
  for (const [name, value] of pairs) headers.set(name, [...(headers.get(name) ?? []), value]);
  return { value: Object.fromEntries(headers) };
}

const parseWord = (input: FlagValue): Parsed => ({ value: wordOf(input) });

const parsers: Readonly<Record<Extract<FieldType, string>, (input: FlagValue) => Parsed>> = {
  string: parseWord,
  duration: parseWord,
  'duration or nanoseconds': parseWord,
  quantity: parseWord,
  bool: parseBool,
  int32: parseNumber,
  verbosity: parseNumber,
  int64: parseNumber,
  float64: parseNumber,
  '[]string': (input) => ({ value: textsOf(input).filter((text) => text !== '') }),
  '[]int32': (input) => ({ value: textsOf(input).map(Number) }),
  'map[string]string': parseMap,
  'map[string]quantity': parseMap,
  'map[string]bool': parseSwitches,
  'map[string][]string': parseHeaders,
};

/** Parses lists of structs in their own formats: taints `key=value:effect`, memory `0:memory=1Gi;1:memory=2Gi`. */
function parseStructs(type: Exclude<FieldType, string>, texts: readonly string[]): Parsed {
  const struct = 'listOf' in type ? type.listOf.struct : type.struct;
  if (struct === 'Taint') {
    const taints = texts.filter((text) => text !== '').map(parseTaint);
    const fault = taints.find((taint) => typeof taint === 'string');
    return fault === undefined ? { value: taints } : { fault };
  }
  const value = texts
    .join(',')
    .split(';')
    .map((text) => {
      const [node = '', limits = ''] = text.split(':');
      const pairs = parsePairs(limits);
      return {
        numaNode: Number(node),
        limits: typeof pairs === 'string' ? pairs : Object.fromEntries(pairs),
      };
    });
  return value.some(({ numaNode, limits }) => Number.isNaN(numaNode) || typeof limits === 'string')
    ? { fault: `${JSON.stringify(texts.join(','))} is not of the form 0:memory=1Gi;1:memory=2Gi` }
    : { value };
}
