import { InvalidArgumentError } from 'commander';
import { resolve } from 'node:path';

/** The path of a settings file, or settings that are JSON themselves. */
export const settingsOf = (text: string | undefined, cwd: string): string | undefined =>
  text === undefined || text.startsWith('{') ? text : resolve(cwd, text);

/** Reads a port. @throws {InvalidArgumentError} when it is none */
export function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('it must be a number from 0 to 65535.');
}

/** Reads an HTTP address. @throws {InvalidArgumentError} when it is none */
export function url(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new InvalidArgumentError('it must be an http:// or https:// URL.');
}

/** The examples of a command's help. */
export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}\n`;
}

/** Adds the entries of a list that commas separate; for repeatable options. */
export const commaList = (value: string, before: readonly string[]): readonly string[] => [
  ...before,
  ...value
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean),
];

/** Help of `--controllers`. */
export const controllersHelp =
  'controllers to run, as with kube-controller-manager: *, name, -name; none: no controller; repeatable';

/** Returns the entries of a repeatable option, or its default when there are none. */
export const entriesOf = (value: unknown, otherwise: readonly string[]): readonly string[] =>
  Array.isArray(value) && value.length > 0 ? (value as readonly string[]) : otherwise;
