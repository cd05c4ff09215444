import { hostname } from 'node:os';
import { explain as explainOptions } from '../options/explain.ts';
import { loadOptions } from '../options/load.ts';
import { nearest } from '../options/nearest.ts';
import { formatFault } from '../options/options-error.ts';
import { settingNames } from '../options/schema.ts';
import { exitCodes } from './exit-codes.ts';
import type { ExplainOptions } from './program.ts';
import { readRest } from '../options/command-line.ts';

/**
 * Prints the effective settings and where each came from: `default`, `FILE:LINE`, `--flag` or `$VARIABLE`.
 *
 * @throws {OptionsError} every fault of file and flags at once
 */
export function explain(
  options: ExplainOptions,
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => unknown,
): number {
  const { flags, operands } = readRest(options.rest);
  const path = operands[0] ?? '';
  const effective = loadOptions({
    flags,
    env,
    hostname: hostname(),
    ...(options.config !== undefined && { configFile: options.config }),
  });
  const shown = explainOptions(effective).filter((each) => isBelow(each.path, path));
  if (shown.length === 0) return nothingAt(path, say);
  if (options.output === 'json') for (const each of shown) say(JSON.stringify(each));
  else {
    const width = Math.max(...shown.map((each) => each.path.length));
    for (const { path: at, value, from } of shown)
      say(`${at.padEnd(width)}  ${JSON.stringify(value)}  (${from})`);
  }
  for (const warning of effective.warnings) say(`warning: ${formatFault(warning)}`);
  return exitCodes.ok;
}

/** A setting that exists and has no value, or none at all. */
function nothingAt(path: string, say: (line: string) => unknown): number {
  const parts = path.split('.');
  const names = settingNames(parts.slice(0, -1));
  const last = parts.at(-1) ?? '';
  if (names.includes(last)) {
    say(`${path} is not set`);
    return exitCodes.ok;
  }
  const near = nearest(last, names);
  const hint = near === undefined ? '' : `; did you mean ${[...parts.slice(0, -1), near].join('.')}?`;
  say(`there is no setting ${path}${hint}`);
  return exitCodes.invalid;
}

function isBelow(path: string, wanted: string): boolean {
  return wanted === '' || path === wanted || path.startsWith(`${wanted}.`);
}
