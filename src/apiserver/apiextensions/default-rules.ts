import { ownMember } from '../../base/own.ts';
import { isObject, type JsonObject, objectAt } from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { embeddedFaults } from './embedded-rules.ts';
import { evaluateRules } from './rule-evaluation.ts';
import { sorted } from './sorted-value.ts';
import { isEmbedded, itemsOf, pruned, type Structural } from './structural.ts';
import { hasRules } from './structural-rules.ts';
import { valueFaults } from './value-rules.ts';

/**
 * Returns what is wrong with the defaults of a structural schema: unknown fields, values that break the schema, and rules that they break.
 * Follows `ValidateDefaults` (apiextensions-apiserver).
 */
export function defaultFaults(schema: JsonObject, path: string, isRoot = true): readonly FieldFault[] {
  const own = ownMember(schema, 'default');
  const items = itemsOf(schema);
  return [
    ...(own === undefined || own === null ? [] : oneDefault(own, schema, `${path}.default`, isRoot)),
    // there may be no defaults below additionalProperties
    ...(items ? defaultFaults(items, `${path}.items`, false) : []),
    ...Object.entries(objectAt(schema, 'properties')).flatMap(([name, inner]) =>
      isObject(inner) ? defaultFaults(inner, `${path}.properties[${name}]`, false) : [],
    ),
  ];
}

function oneDefault(value: unknown, schema: Structural, path: string, isRoot: boolean): FieldFault[] {
  const unknown: string[] = [];
  pruned(value, schema, unknown, { isResource: isEmbedded(schema) });
  const faults =
    unknown.length > 0 ? [fault.invalid(path, sorted(value), 'must not have unknown fields')] : [];
  const broken = [...embeddedFaults(value, schema), ...valueFaults(value, schema)];
  const rules = broken.length > 0 || !hasRules(schema) ? [] : brokenRules(value, schema, isRoot);
  return [
    ...faults,
    ...broken.map((one) => ({ ...one, field: fieldAt(path, one.field) })),
    ...rules.map((one) => ({
      ...one,
      field: one.field.startsWith('[') ? path + one.field : fieldAt(path, one.field),
    })),
  ];
}

/** Returns the rules that a default breaks as an unchanged value, or else as a new one. */
function brokenRules(value: unknown, schema: Structural, isRoot: boolean): readonly FieldFault[] {
  const asResource = isRoot || isEmbedded(schema);
  const { faults } = evaluateRules(value, schema, { old: value, isRoot: asResource });
  return faults.length > 0 ? faults : evaluateRules(value, schema, { isRoot: asResource }).faults;
}

/** Returns the path of a part of a default. */
const fieldAt = (path: string, part: string): string =>
  part === '<nil>' || part === '' ? path : `${path}.${part.replace(/^\./, '')}`;
