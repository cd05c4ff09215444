import { regexFault } from '../library/regex.ts';
import { EvalError } from '../values/value.ts';
import type { PlanNode } from './node.ts';

/** Functions whose second argument is a regular expression, which is compiled once when it is constant. */
const searches = new Set(['find', 'findAll']);

/** @throws {EvalError} for a constant that is no regular expression */
export function checkPattern(name: string, [, pattern]: readonly PlanNode[]): void {
  if (!searches.has(name) || typeof pattern?.constant !== 'string') return;
  const fault = regexFault(pattern.constant);
  if (fault !== undefined) throw new EvalError(fault);
}
