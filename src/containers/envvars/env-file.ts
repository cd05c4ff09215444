import { AgentError } from '../../base/errors.ts';

/**
 * Returns the value of a key in an environment file: lines `KEY='value'`, values in single quotes, which may span lines; comments start
 * with `#`.
 *
 * Follows kubelet `env.ParseEnv`.
 *
 * @returns `undefined` when the key does not occur or has an empty value
 * @throws {AgentError} `invalid_argument` for a malformed line before the key is found
 */
export function envFileValue(text: string, key: string): string | undefined {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? '').replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const { name, rest } = assignment(line, at + 1);
    if (/^[ \t]/.test(rest)) {
      if (name === key) return undefined; // a bare name assigns nothing, as in a shell
      continue;
    }
    if (!rest.startsWith("'")) throw fault(at + 1, 'value must be enclosed in single quotes');
    const { value, lastLine } = quoted(lines, at, rest.slice(1));
    if (name === key) return value === '' ? undefined : value;
    at = lastLine;
  }
  return undefined;
}

function assignment(line: string, number: number): { readonly name: string; readonly rest: string } {
  const equals = line.indexOf('=');
  if (equals < 0) throw fault(number, "missing '='");
  const name = line.slice(0, equals);
  const bare = name.replace(/[ \t]+$/, '');
  if (bare === '') throw fault(number, 'empty variable name');
  if (bare !== name) throw fault(number, "whitespace before '=' is not allowed");
  return { name, rest: line.slice(equals + 1) };
}

function quoted(
  lines: readonly string[],
  first: number,
  opened: string,
): { readonly value: string; readonly lastLine: number } {
  let value = '';
  for (let at = first, rest = opened; ;) {
    const end = rest.indexOf("'");
    if (end >= 0) {
      if (!/^[ \t]*(#|$)/.test(rest.slice(end + 1)))
        throw fault(at + 1, 'unexpected content after closing quote');
      return { value: value + rest.slice(0, end), lastLine: at };
    }
    value += `${rest}\n`;
    at += 1;
    const next = lines[at];
    if (next === undefined)
      throw new AgentError(
        'invalid_argument',
        `invalid environment variable format starting at line ${first + 1}: unclosed single quote`,
      );
    rest = next;
  }
}

const fault = (line: number, what: string): AgentError =>
  new AgentError('invalid_argument', `invalid environment variable format at line ${line}: ${what}`);
