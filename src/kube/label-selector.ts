import { ownMember, tableOf } from '../base/own.ts';
/** Selects objects by label; all parts must match. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

type Labels = Readonly<Record<string, string>>;
type Meets = (value: string | undefined, values: readonly string[]) => boolean;

const isIn: Meets = (value, values) => value !== undefined && values.includes(value);

const operators: Readonly<Record<string, Meets>> = tableOf({
  In: isIn,
  NotIn: (value, values) => !isIn(value, values),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
});

/**
 * True when labels match a selector: an absent selector matches nothing, an empty one everything. Follows `metav1.LabelSelectorAsSelector`.
 */
export function labelSelectorMatches(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  if (!selector) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const value = (key: string): string | undefined =>
    Object.hasOwn(labels, key) ? ownMember(labels, key) : undefined;
  return (
    Object.entries(matchLabels).every(([key, expected]) => value(key) === expected) &&
    matchExpressions.every(
      ({ key, operator, values = [] }) => operators[operator]?.(value(key), values) ?? false,
    )
  );
}
