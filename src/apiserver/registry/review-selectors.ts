import { ownMember } from '../../base/own.ts';
import { type JsonObject, listAt, objectAt, objectsAt, stringAt } from '../../apimachinery/json.ts';
import { fieldTerms, labelMatcher } from '../../apimachinery/selectors.ts';
import { causeOf, type FieldFault } from '../../apimachinery/status-error.ts';
import { type Faults, invalid, required } from '../../kube/validation/field-error.ts';
import { selectorRequirement, setOperators } from '../../kube/validation/shared.ts';

/** A selector by which a review restricts what is listed or deleted. */
type SelectorName = 'fieldSelector' | 'labelSelector';

const attributes = 'spec.resourceAttributes';
const valuesOf = (requirement: JsonObject): readonly string[] =>
  listAt(requirement, 'values') as readonly string[];

/** Validates a requirement; an operator that is not known is none of its faults. */
function* requirementFaults(name: SelectorName, field: string, requirement: JsonObject): Faults {
  const [key, operator] = [stringAt(requirement, 'key'), stringAt(requirement, 'operator')];
  const values = valuesOf(requirement);
  const isKnown = ownMember(setOperators, operator) !== undefined;
  if (name === 'labelSelector') {
    for (const error of selectorRequirement(field, { key, operator, values }, setOperators))
      if (isKnown || error.field !== `${field}.operator`) yield error;
    return;
  }
  if (key === '') yield required(`${field}.key`, 'must be specified');
  yield* ownMember(setOperators, operator)?.(`${field}.values`, values) ?? [];
}

function* selectorFaults(name: SelectorName, selector: JsonObject): Faults {
  const field = `${attributes}.${name}`;
  const [raw, requirements] = [stringAt(selector, 'rawSelector'), objectsAt(selector, 'requirements')];
  if (raw !== '' && requirements.length > 0)
    yield invalid(`${field}.rawSelector`, raw, 'may not specified at the same time as requirements');
  if (raw === '' && requirements.length === 0)
    yield required(
      `${field}.requirements`,
      `when ${field} is specified, requirements or rawSelector is required`,
    );
  for (const [index, requirement] of requirements.entries())
    yield* requirementFaults(name, `${field}.requirements[${index}]`, requirement);
}

/** Returns the faults of the selectors of a review. */
export function reviewSelectorFaults(spec: JsonObject): readonly FieldFault[] {
  const at = objectAt(spec, 'resourceAttributes');
  return (['fieldSelector', 'labelSelector'] as const)
    .filter((name) => at[name] !== undefined)
    .flatMap((name) => [...selectorFaults(name, objectAt(at, name))].map(causeOf));
}

/** Returns a requirement on a field as a term of a selector; undefined: it is not understood, and is left out. */
function fieldTerm(requirement: JsonObject): string | undefined {
  const [value, ...others] = valuesOf(requirement);
  const sign = { In: '=', NotIn: '!=' }[stringAt(requirement, 'operator')];
  if (sign === undefined || value === undefined || others.length > 0) return undefined;
  return `${stringAt(requirement, 'key')}${sign}${value.replace(/[\\,=]/g, '\\$&')}`;
}

/** Returns the field selector of a review as text, as far as it is understood; undefined: there is none. */
export function reviewFieldSelector(spec: JsonObject): string | undefined {
  const at = objectAt(spec, 'resourceAttributes');
  if (at['fieldSelector'] === undefined) return undefined;
  const selector = objectAt(at, 'fieldSelector');
  const raw = stringAt(selector, 'rawSelector');
  if (raw !== '') return isParsed(raw, fieldTerms) ? raw : undefined;
  return objectsAt(selector, 'requirements')
    .flatMap((one) => fieldTerm(one) ?? [])
    .join(',');
}

function isParsed(text: string, parse: (text: string) => unknown): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns how many requirements of a selector are understood, and whether all are. */
function understanding(name: SelectorName, selector: JsonObject): 'all' | 'some' | 'none' {
  const raw = stringAt(selector, 'rawSelector');
  if (raw !== '') return isParsed(raw, name === 'labelSelector' ? labelMatcher : fieldTerms) ? 'all' : 'none';
  const requirements = objectsAt(selector, 'requirements');
  const count = requirements.filter((one) =>
    name === 'labelSelector'
      ? ownMember(setOperators, stringAt(one, 'operator')) !== undefined
      : fieldTerm(one) !== undefined,
  ).length;
  if (count === requirements.length) return 'all';
  return count > 0 ? 'some' : 'none';
}

/** Returns what a review ignores of its selectors; undefined: nothing. The answer then holds for more objects than the selectors describe. */
export function reviewEvaluationError(spec: JsonObject): string | undefined {
  const at = objectAt(spec, 'resourceAttributes');
  const texts = (['fieldSelector', 'labelSelector'] as const).flatMap((name) => {
    if (at[name] === undefined) return [];
    const understood = understanding(name, objectAt(at, name));
    if (understood === 'all') return [];
    return [`${attributes}.${name} ${understood === 'some' ? 'partially ' : ''}ignored due to parse error`];
  });
  return texts.length > 0 ? texts.join('; ') : undefined;
}
