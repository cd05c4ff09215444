import { isGoInteger } from '../../go/go-float.ts';
import { ownMember } from '../../base/own.ts';
import { goTypeOf, goValue } from '../../apimachinery/go-value.ts';
import { isObject, type JsonObject } from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import type { ScalePaths } from './custom-kinds.ts';

const largest = 2 ** 31 - 1;

/** What stands at a path: a value, nothing, or why the path leads nowhere. */
type Found = { readonly value: unknown } | { readonly wrong: string } | undefined;

const wrongType = (
  path: readonly string[],
  value: unknown,
  expected: string,
): { readonly wrong: string } => ({
  wrong: `.${path.join('.')} accessor error: ${goValue(value)} is of the type ${goTypeOf(value)}, expected ${expected}`,
});

/** Follows apimachinery `NestedFieldNoCopy`. */
function foundAt(object: JsonObject, path: readonly string[]): Found {
  let value: unknown = object;
  for (const [i, key] of path.entries()) {
    if (value === null) return undefined;
    if (!isObject(value)) return wrongType(path.slice(0, i + 1), value, 'map[string]interface{}');
    if (!Object.hasOwn(value, key)) return undefined;
    value = ownMember(value, key);
  }
  return { value };
}

function replicasFaults(object: JsonObject, path: readonly string[]): FieldFault[] {
  const field = `.${path.join('.')}`;
  const found = foundAt(object, path);
  if (!found) return [];
  const { value, wrong } = { value: undefined, wrong: undefined, ...found };
  if (wrong !== undefined) return [fault.invalid(field, 0, wrong)];
  if (typeof value !== 'number' || !isGoInteger(value))
    return [fault.invalid(field, 0, wrongType(path, value, 'int64').wrong)];
  if (value < 0) return [fault.invalid(field, value, 'should be a non-negative integer')];
  return value > largest ? [fault.invalid(field, value, `should be less than or equal to ${largest}`)] : [];
}

function selectorFaults(object: JsonObject, path: readonly string[]): FieldFault[] {
  const found = foundAt(object, path);
  if (!found || ('value' in found && typeof found.value === 'string')) return [];
  const { wrong } = 'wrong' in found ? found : wrongType(path, found.value, 'string');
  return [fault.invalid(`.${path.join('.')}`, '', wrong)];
}

/**
 * Validates the values that a custom resource's scale is about. Follows apiextensions-apiserver `ValidateScaleSpec` and `ValidateScaleStatus`
 * (v1.36).
 *
 * @param part `status` for a write of the status
 */
export const scaleFaults = (
  object: JsonObject,
  { spec, status, selector }: ScalePaths,
  part: 'all' | 'status',
): FieldFault[] => [
  ...(part === 'all' ? replicasFaults(object, spec) : []),
  ...replicasFaults(object, status),
  ...(selector ? selectorFaults(object, selector) : []),
];
