import { AgentError } from '../base/errors.ts';

/** Names of flags; the ones of `booleans` need no value. */
export interface FlagTable {
  readonly values: readonly string[];
  readonly booleans: readonly string[];
}

/** Parsed flags: every value of each, in order. */
export type Flags = ReadonlyMap<string, readonly string[]>;

const mistake = (text: string): AgentError => new AgentError('invalid_argument', text);

/**
 * Parses a command line as Go programs do: `--name value`, `--name=value`, one dash or two, and booleans without a value.
 *
 * @throws {AgentError} `invalid_argument` for an unknown flag, a missing value or an argument that is no flag
 */
export function parseFlags(args: readonly string[], table: FlagTable): Flags {
  const flags = new Map<string, string[]>();
  const kinds = kindsOf(table);
  for (let at = 0; at < args.length; at++) {
    const [, name = '', joined] = /^--?([^-=][^=]*)(?:=([\s\S]*))?$/.exec(args[at] ?? '') ?? [];
    if (name === '') throw mistake(`unexpected argument ${JSON.stringify(args[at])}`);
    const kind = kinds.get(name);
    if (!kind) throw mistake(`unknown flag: --${name}`);
    const value = joined ?? (kind === 'boolean' ? 'true' : args[++at]);
    flags.set(name, [...(flags.get(name) ?? []), checked(name, kind, value)]);
  }
  return flags;
}

const kindsOf = ({ values, booleans }: FlagTable): ReadonlyMap<string, 'value' | 'boolean'> =>
  new Map([
    ...values.map((name) => [name, 'value'] as const),
    ...booleans.map((name) => [name, 'boolean'] as const),
  ]);

function checked(name: string, kind: 'value' | 'boolean', value: string | undefined): string {
  if (value === undefined) throw mistake(`flag needs an argument: --${name}`);
  if (kind === 'boolean' && !/^(?:true|false|t|f|1|0)$/i.test(value))
    throw mistake(
      `invalid argument ${JSON.stringify(value)} for "--${name}" flag: true or false is expected`,
    );
  return value;
}

/** Returns the last value of a flag. */
export const lastOf = (flags: Flags, name: string): string | undefined => flags.get(name)?.at(-1);

/** Returns the entries of a flag that is repeated or has commas. */
export const listOf = (flags: Flags, name: string): readonly string[] =>
  (flags.get(name) ?? []).flatMap((value) => value.split(',')).filter((entry) => entry !== '');

/**
 * Returns the feature gates of a flag `Gate=true,Other=false`, without the component that newer releases write before a gate (`kube:Gate=true`).
 *
 * @throws {AgentError} `invalid_argument` for an entry that is no gate with true or false
 */
export const gatesOf = (flags: Flags, name: string): ReadonlyMap<string, boolean> =>
  new Map(
    listOf(flags, name).map((entry) => {
      const [, gate, value] = /^(?:[^:=]*:)?([^:=]+)=(true|false|t|f|1|0)$/i.exec(entry.trim()) ?? [];
      if (gate === undefined || value === undefined)
        throw mistake(
          `invalid argument ${JSON.stringify(entry)} for "--${name}" flag: Gate=true or Gate=false is expected`,
        );
      return [gate, /^(?:true|t|1)$/i.test(value)];
    }),
  );

/** Returns a boolean flag. */
export const isSet = (flags: Flags, name: string, byDefault = false): boolean => {
  const value = lastOf(flags, name);
  return value === undefined ? byDefault : /^(?:true|t|1)$/i.test(value);
};

/** Returns the text that `--help` prints: a line for each flag. */
export function flagHelp(usage: string, { values, booleans }: FlagTable): string {
  const lines = [
    ...values.map((name) => [name, `--${name} string`] as const),
    ...booleans.map((name) => [name, `--${name}`] as const),
  ];
  const sorted = lines.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => `      ${line}`);
  return `${usage}\n\nFlags:\n${sorted.join('\n')}\n`;
}
