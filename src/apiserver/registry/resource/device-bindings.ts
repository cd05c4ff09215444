import { duplicate, type Faults, invalid } from '../../../kube/validation/field-error.ts';
import { labelName } from '../../../kube/validation/shared.ts';
import { type JsonObject, listAt, textOf } from '../../../apimachinery/json.ts';
import { boundedList } from './bounded.ts';

const most = 4;

/** Validates the conditions that a device's binding waits for, and those that end it: both or neither are listed. */
export function* bindingFaults(field: string, holder: JsonObject): Faults {
  const [conditions, failures] = ['bindingConditions', 'bindingFailureConditions'].map((key) =>
    listAt(holder, key).map(textOf),
  ) as [string[], string[]];
  const [at, failuresAt] = [`${field}.bindingConditions`, `${field}.bindingFailureConditions`];
  yield* boundedList(at, conditions, most, labelName);
  yield* boundedList(failuresAt, failures, most, labelName);
  for (const [i, one] of conditions.entries())
    if (conditions.indexOf(one) < i) yield duplicate(`${at}[${i}]`, one);
  for (const [i, one] of failures.entries()) {
    if (failures.indexOf(one) < i) yield duplicate(`${failuresAt}[${i}]`, one);
    if (conditions.includes(one))
      yield invalid(
        `${failuresAt}[${i}]`,
        one,
        'bindingFailureConditions must not overlap with bindingConditions',
      );
  }
  if (conditions.length === 0 && failures.length > 0)
    yield invalid(
      at,
      holder['bindingConditions'] ?? null,
      'bindingConditions are required to use bindingFailureConditions',
    );
  if (failures.length === 0 && conditions.length > 0)
    yield invalid(
      failuresAt,
      holder['bindingFailureConditions'] ?? null,
      'bindingFailureConditions are required to use bindingConditions',
    );
}
