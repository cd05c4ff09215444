import {
  duplicate,
  type Faults,
  invalid,
  oneOf,
  required,
  tooLong,
} from '../../../kube/validation/field-error.ts';
import { labelName } from '../../../kube/validation/shared.ts';
import { type JsonObject, stringAt } from '../../../apimachinery/json.ts';
import { numberAt } from './value-rules.ts';

/** Maximum sizes, bytes. */
const largest = { reason: 1024, message: 32 * 1024 } as const;

const reasonForm = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const reasonText =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

function* conditionFaults(field: string, condition: JsonObject): Faults {
  yield* labelName(`${field}.type`, stringAt(condition, 'type'));
  yield* oneOf(`${field}.status`, stringAt(condition, 'status'), ['False', 'True', 'Unknown']);
  const observed = numberAt(condition, 'observedGeneration', 0);
  if (observed < 0)
    yield invalid(`${field}.observedGeneration`, observed, 'must be greater than or equal to zero');
  if (typeof condition['lastTransitionTime'] !== 'string') yield required(`${field}.lastTransitionTime`);
  const reason = stringAt(condition, 'reason');
  if (reason === '') yield required(`${field}.reason`);
  else {
    if (!reasonForm.test(reason)) yield invalid(`${field}.reason`, reason, reasonText);
    if (Buffer.byteLength(reason) > largest.reason) yield tooLong(`${field}.reason`, largest.reason);
  }
  if (Buffer.byteLength(stringAt(condition, 'message')) > largest.message)
    yield tooLong(`${field}.message`, largest.message);
}

/** Validates conditions of the common form (`metav1.Condition`), each of a type of its own. */
export function* conditionsFaults(field: string, conditions: readonly JsonObject[]): Faults {
  const types = new Set<string>();
  for (const [i, condition] of conditions.entries()) {
    const type = stringAt(condition, 'type');
    if (types.has(type)) yield duplicate(`${field}[${i}].type`, type);
    types.add(type);
    yield* conditionFaults(`${field}[${i}]`, condition);
  }
}
