import { AgentError } from '../../base/errors.ts';

/** A token of a jq expression. */
export interface Token {
  readonly kind: 'field' | 'name' | 'string' | 'number' | 'sign' | 'end';
  readonly text: string;
  /** Offset in the expression. */
  readonly at: number;
}

const patterns: readonly (readonly [Token['kind'] | 'space', RegExp])[] = [
  ['space', /\s+|#[^\n]*/y],
  ['field', /\.[A-Za-z_]\w*|\."(?:[^"\\]|\\.)*"/y],
  ['name', /\$?[A-Za-z_][\w]*/y],
  ['number', /\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/y],
  ['string', /"(?:[^"\\]|\\.)*"/y],
  ['sign', /\/\/|==|!=|<=|>=|\?|[.|,()[\]<>+\-*/%:]/y],
];

/** Returns the error of an expression, with its position. */
export const jqFault = (expression: string, at: number, problem: string): AgentError =>
  new AgentError(
    'invalid_argument',
    `expression ${JSON.stringify(expression)}, character ${at + 1}: ${problem}`,
  );

/** Splits a jq expression into tokens. @throws {AgentError} `invalid_argument` with the position */
export function tokensOf(expression: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < expression.length) {
    const found = patterns.flatMap(([kind, pattern]) => {
      pattern.lastIndex = at;
      const text = pattern.exec(expression)?.[0];
      return text === undefined ? [] : [{ kind, text }];
    })[0];
    if (!found) throw jqFault(expression, at, `unexpected ${JSON.stringify(expression.charAt(at))}`);
    const { kind, text } = found;
    if (kind !== 'space') tokens.push({ kind, text, at });
    at += text.length;
  }
  tokens.push({ kind: 'end', text: '', at });
  return tokens;
}
