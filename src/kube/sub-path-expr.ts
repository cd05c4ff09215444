import { AgentError } from '../base/errors.ts';
import { expand } from './expansion.ts';

/**
 * Expands the variables of a `subPathExpr`; each must have a value.
 *
 * Follows kubelet `ExpandContainerVolumeMounts`.
 *
 * @throws {AgentError} `invalid_argument` with every variable that has no value, sorted
 */
export function expandSubPath(expression: string, lookup: (name: string) => string | undefined): string {
  const missing = new Set<string>();
  const path = expand(expression, (name) => {
    const value = lookup(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0)
    throw new AgentError('invalid_argument', `missing value for ${[...missing].sort().join(', ')}`);
  return path;
}
