import type { Problem } from './source.ts';

type TokenKind = 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'ident' | 'escaped' | 'symbol' | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
}

const escape = String.raw`\\(?:[abfnrtv"'\\?\x60]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`;
const quoted = [
  String.raw`[rR]"""[^]*?"""`,
  String.raw`[rR]'''[^]*?'''`,
  String.raw`[rR]"[^"\n\r]*"`,
  String.raw`[rR]'[^'\n\r]*'`,
  String.raw`"""(?:${escape}|[^\\])*?"""`,
  String.raw`'''(?:${escape}|[^\\])*?'''`,
  String.raw`"(?:${escape}|[^\\"\n\r])*"`,
  String.raw`'(?:${escape}|[^\\'\n\r])*'`,
].join('|');

const rules: readonly (readonly [TokenKind | 'space', RegExp])[] = [
  ['space', /[\t \r\n\f]+|\/\/[^\n]*/uy],
  ['bytes', new RegExp(`[bB](?:${quoted})`, 'uy')],
  ['string', new RegExp(quoted, 'uy')],
  ['double', /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/uy],
  ['uint', /(?:0x[0-9a-fA-F]+|\d+)[uU]/uy],
  ['int', /(?:0x[0-9a-fA-F]+|\d+)/uy],
  ['symbol', /==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]/uy],
  ['ident', /[A-Za-z_][A-Za-z0-9_]*/uy],
  ['escaped', /`[A-Za-z0-9_./ -]+`/uy],
];
/** Words that are symbols of the grammar, not names. */
const words = new Set(['in', 'true', 'false', 'null']);

/** Returns the tokens of an expression, closed by one of kind `end`, and the characters that begin none. */
export function tokensOf(text: string): { readonly tokens: readonly Token[]; readonly problems: Problem[] } {
  const tokens: Token[] = [];
  const problems: Problem[] = [];
  let at = 0;
  while (at < text.length) {
    const found = matchAt(text, at);
    if (!found) {
      const bad = unreadable(text, at);
      problems.push({ at, message: `Syntax error: token recognition error at: '${bad}'` });
      at += bad.length;
      continue;
    }
    const [kind, read] = found;
    if (kind !== 'space') tokens.push({ kind: words.has(read) ? 'symbol' : kind, text: read, at });
    at += read.length;
  }
  tokens.push({ kind: 'end', text: '<EOF>', at: text.length });
  return { tokens, problems };
}

function matchAt(text: string, at: number): readonly [TokenKind | 'space', string] | undefined {
  for (const [kind, rule] of rules) {
    rule.lastIndex = at;
    const [read] = rule.exec(text) ?? [];
    if (read !== undefined) return [kind, read];
  }
  return undefined;
}

const characterAt = (text: string, at: number): string => String.fromCodePoint(text.codePointAt(at) ?? 0);

/** What the lexer gives up at: the beginning of a token and the character that does not continue it. */
function unreadable(text: string, at: number): string {
  const first = characterAt(text, at);
  if (`"'\``.includes(first)) return unclosed(text, at, first);
  const isBegun = '|&='.includes(first) && at + 1 < text.length;
  return isBegun ? first + characterAt(text, at + 1) : first;
}

function unclosed(text: string, at: number, quote: string): string {
  const rule =
    quote === '`'
      ? /`[A-Za-z0-9_./ -]*/uy
      : new RegExp(`${quote}(?:${escape}|[^\\\\${quote}\\n\\r])*(?:\\\\[xXuU]?[0-9a-fA-F]*)?`, 'uy');
  rule.lastIndex = at;
  const [read = quote] = rule.exec(text) ?? [];
  const end = at + read.length;
  return end < text.length ? read + characterAt(text, end) : read;
}
