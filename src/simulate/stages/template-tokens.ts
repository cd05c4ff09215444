import { AgentError } from '../../base/errors.ts';

/** A part of a template: text, or the words of an action. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly words: readonly Word[]; readonly line: number };

/** A word of an action. */
export interface Word {
  readonly kind: 'name' | 'path' | 'variable' | 'string' | 'number' | 'sign';
  readonly text: string;
}

/** Returns the error of a template, with its line. */
export const templateFault = (line: number, problem: string): AgentError =>
  new AgentError('invalid_argument', `template, line ${line}: ${problem}`);

/** Splits a template into text and actions; `{{-` and `-}}` trim the white space beside them. @throws {AgentError} with the line */
export function partsOf(template: string): readonly Part[] {
  const parts: Part[] = [];
  let at = 0;
  let trims = false;
  for (;;) {
    const start = template.indexOf('{{', at);
    const raw = template.slice(at, start < 0 ? undefined : start);
    const trimsRight = start >= 0 && /^\{\{-\s/.test(template.slice(start, start + 4));
    const left = trims ? raw.trimStart() : raw;
    const text = trimsRight ? left.trimEnd() : left;
    if (text !== '') parts.push({ kind: 'text', text });
    if (start < 0) return parts;
    const line = template.slice(0, start).split('\n').length;
    const end = endOf(template, start + 2);
    if (end < 0) throw templateFault(line, '"{{" has no "}}"');
    let inner = template.slice(start + (trimsRight ? 3 : 2), end);
    trims = /\s-$/.test(inner);
    if (trims) inner = inner.slice(0, -1);
    if (!/^\s*\/\*[^]*\*\/\s*$/.test(inner))
      parts.push({ kind: 'action', words: wordsOf(inner, line), line });
    at = end + 2;
  }
}

/** Returns where the `}}` of an action is, which may not be inside of a string. */
function endOf(template: string, from: number): number {
  const pattern = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|\}\}/g;
  pattern.lastIndex = from;
  for (let found = pattern.exec(template); found; found = pattern.exec(template))
    if (found[0] === '}}') return found.index;
  return -1;
}

const wordPatterns: readonly (readonly [Word['kind'] | 'space', RegExp])[] = [
  ['space', /\s+/y],
  ['string', /"(?:[^"\\\n]|\\.)*"|`[^`]*`/y],
  ['number', /-?\d+(?:\.\d+)?/y],
  ['variable', /\$\w*/y],
  ['path', /\.\w+/y],
  ['name', /[A-Za-z_]\w*/y],
  ['sign', /:=|[=|(),.]/y],
];

function wordsOf(inner: string, line: number): readonly Word[] {
  const words: Word[] = [];
  for (let at = 0; at < inner.length;) {
    const found = wordPatterns.flatMap(([kind, pattern]) => {
      pattern.lastIndex = at;
      const text = pattern.exec(inner)?.[0];
      return text === undefined ? [] : [{ kind, text }];
    })[0];
    if (!found) throw templateFault(line, `unexpected ${JSON.stringify(inner.charAt(at))} in an action`);
    if (found.kind !== 'space') words.push({ kind: found.kind, text: found.text });
    else words.push({ kind: 'sign', text: ' ' });
    at += found.text.length;
  }
  return words.filter(({ text }, index) => text !== ' ' || !isEdge(words, index));
}

/** Whether a space is not a separator between two words. It matters only before a path: `.a .b` are two values, `.a.b` is one. */
const isEdge = (words: readonly Word[], index: number): boolean => words[index + 1]?.kind !== 'path';
