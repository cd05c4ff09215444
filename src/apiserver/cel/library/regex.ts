import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { LRUCache } from 'lru-cache';
import { EvalError } from '../values/value.ts';

const load = createRequire(import.meta.url);
const compiled = new LRUCache<string, RE2JS>({ max: 512 });

/** Returns why a text is no expression of Go's `regexp`; undefined if it is one. */
export function regexFault(pattern: string): string | undefined {
  try {
    compile(pattern);
    return undefined;
  } catch (reason) {
    return (reason as Error).message;
  }
}

/** The library is loaded with the first pattern: servers without rules start without it. */
function compile(pattern: string): RE2JS {
  const found = compiled.get(pattern);
  if (found) return found;
  const { RE2JS: Pattern } = load('re2js') as typeof import('re2js');
  const regex = Pattern.compile(pattern);
  compiled.set(pattern, regex);
  return regex;
}

/** Compiles a pattern of an expression. @throws {EvalError} with Go's words */
function compiledOrError(pattern: string, lead: string): RE2JS {
  try {
    return compile(pattern);
  } catch (reason) {
    throw new EvalError(lead + (reason as Error).message);
  }
}

/** Reports whether a text has a match, in time linear to its length. @throws {EvalError} */
export const regexMatches = (text: string, pattern: string): boolean =>
  compiledOrError(pattern, '').matcher(text).find();

/** Returns the first matches of a pattern; all if `most` is negative. @throws {EvalError} */
export function regexFind(text: string, pattern: string, most: number): string[] {
  const matcher = compiledOrError(pattern, 'Illegal regex: ').matcher(text);
  const found: string[] = [];
  while ((most < 0 || found.length < most) && matcher.find()) found.push(matcher.group(0) ?? '');
  return found;
}
