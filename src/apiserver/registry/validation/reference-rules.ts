import { type Faults, invalidEach, required } from '../../../kube/validation/field-error.ts';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import { pathSegment } from '../../../apimachinery/path-segment.ts';
import { type JsonObject, stringAt } from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';

/** Validates texts that must be path segments and may not be empty. */
export function* requiredSegments(field: string, object: JsonObject, ...keys: readonly string[]): Faults {
  for (const key of keys) {
    const text = stringAt(object, key);
    if (text === '') yield required(`${field}.${key}`);
    else yield* invalidEach(`${field}.${key}`, text, pathSegment(text, false));
  }
}

/** Validates a reference to an object by group, kind and name. */
export function* typedReference(field: string, ref: JsonObject): Faults {
  const group = ownMember(ref, 'apiGroup');
  if (typeof group === 'string') yield* invalidEach(`${field}.apiGroup`, group, dns1123Subdomain(group));
  yield* requiredSegments(field, ref, 'kind', 'name');
}
