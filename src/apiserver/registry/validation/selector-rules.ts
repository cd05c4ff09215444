import { labelSelectorMatches } from '../../../kube/label-selector.ts';
import { type Faults, invalid, required } from '../../../kube/validation/field-error.ts';
import { labelSelector, type Selector } from '../../../kube/validation/shared.ts';
import { isObject, type JsonObject, metadataOf, objectAt } from '../../../apimachinery/json.ts';
import { goMap } from './value-rules.ts';

const operators = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);

/** Views JSON as a label selector. */
export const asSelector = (value: unknown): Selector | undefined => (isObject(value) ? value : undefined);

/** Returns a selector as messages print it. */
export function shownSelector(value: unknown): unknown {
  const selector = asSelector(value);
  if (!selector) return null;
  const { matchLabels, matchExpressions } = selector;
  return {
    ...(Object.keys(matchLabels ?? {}).length > 0 && { matchLabels: goMap(matchLabels) }),
    ...(matchExpressions &&
      matchExpressions.length > 0 && {
        matchExpressions: matchExpressions.map(({ key, operator, values }) => ({
          key,
          operator,
          ...(values && { values }),
        })),
      }),
  };
}

/** True when a selector has neither labels nor expressions; an absent one is not empty. */
export const isEmptySelector = (value: unknown): boolean => {
  const selector = asSelector(value);
  return (
    selector !== undefined &&
    Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0
  );
};

/** True when a selector can be evaluated. Follows `metav1.LabelSelectorAsSelector`, which returns an error for others. */
export const isUsableSelector = (value: unknown): boolean => {
  const { matchExpressions = [], matchLabels } = asSelector(value) ?? {};
  const valued = (operator: string): boolean => operator === 'In' || operator === 'NotIn';
  return (
    [...labelSelector('', { ...(matchLabels && { matchLabels }) })].length === 0 &&
    matchExpressions.every(
      (term) =>
        operators.has(term.operator) &&
        valued(term.operator) === (term.values ?? []).length > 0 &&
        [...labelSelector('', { matchExpressions: [term] })].length === 0,
    )
  );
};

/** Validates a selector that must be present and not empty. @param what the kind in the message */
export function* requiredSelector(field: string, value: unknown, what: string): Faults {
  const selector = asSelector(value);
  if (!selector) {
    yield required(field);
    return;
  }
  yield* labelSelector(field, selector);
  if (isEmptySelector(selector))
    yield invalid(field, shownSelector(selector), `empty selector is invalid for ${what}`);
}

/** Validates that a selector matches the labels of a template; an empty one is not checked. */
export function* selectorMatchesTemplate(field: string, value: unknown, template: JsonObject): Faults {
  const { labels } = metadataOf(template);
  const map = objectAt(metadataOf(template), 'labels') as Readonly<Record<string, string>>;
  if (!isEmptySelector(value) && !labelSelectorMatches(asSelector(value), map))
    yield invalid(
      `${field}.metadata.labels`,
      labels === undefined ? null : goMap(labels),
      '`selector` does not match template `labels`',
    );
}
