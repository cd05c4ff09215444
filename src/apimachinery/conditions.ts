import type { JsonObject } from './json.ts';

/**
 * Returns the conditions with one of them set, in place of the one of its type or at the end. `lastTransitionTime` stays while the status does.
 *
 * @param condition with the time of a transition that happens now
 */
export function withCondition(
  conditions: readonly JsonObject[],
  condition: JsonObject,
): readonly JsonObject[] {
  const index = conditions.findIndex(({ type }) => type === condition['type']);
  const before = conditions[index];
  const dated =
    before && before['status'] === condition['status']
      ? { ...condition, lastTransitionTime: before['lastTransitionTime'] }
      : condition;
  return index < 0 ? [...conditions, dated] : conditions.with(index, dated);
}
