/** A mistake in a regular expression as Go's `regexp/syntax` names it, and a pattern for where it is. */
const mistakes: readonly (readonly [text: string, place: RegExp])[] = [
  ['missing argument to repetition operator', /^(?:[^\\]*[(|])?([*+?]+)/],
  ['invalid nested repetition operator', /[^\\]([*+?]{2,})/],
  ['missing closing ]', /(\[[^\]]*)$/],
  ['invalid escape sequence', /(\\[CEFGHIJKLMNORTUVXYZceghijklmoquy])/],
];

/** Returns what Go says about a regular expression that cannot be compiled; undefined when it can. */
export function regexpFault(pattern: string): string | undefined {
  const [, lookaround] = /(?:^|[^\\])(\(\?[=!])/.exec(pattern) ?? [];
  if (lookaround !== undefined)
    return `error parsing regexp: invalid or unsupported Perl syntax: \`${lookaround}\``;
  try {
    new RegExp(pattern.replace(/\(\?[a-z]+\)/g, ''), 'u');
    return undefined;
  } catch {
    return `error parsing regexp: ${mistakeIn(pattern)}`;
  }
}

function mistakeIn(pattern: string): string {
  const bare = pattern.replace(/\\./g, '');
  let depth = 0;
  for (const [bracket] of bare.replace(/\[[^\]]*\]/g, '').matchAll(/[()]/g))
    if (depth >= 0) depth += bracket === '(' ? 1 : -1;
  if (depth > 0) return `missing closing ): \`${pattern}\``;
  if (depth < 0) return `unexpected ): \`${pattern}\``;
  for (const [text, place] of mistakes) {
    const [, part] = place.exec(pattern) ?? [];
    if (part !== undefined) return `${text}: \`${part}\``;
  }
  return `invalid or unsupported syntax: \`${pattern}\``;
}
