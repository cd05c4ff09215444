import { type JsonObject, objectsAt, statusOf } from './json.ts';

/** The members of a condition that decide whether it has changed its status. */
export interface ConditionState {
  readonly type?: unknown;
  readonly status?: unknown;
  readonly lastTransitionTime?: unknown;
}

/**
 * Returns the conditions with one of them set, in place of the one of its type or at the end. `lastTransitionTime` stays while the status does.
 *
 * @param condition with the time of a transition that happens now
 */
export function withCondition<C extends ConditionState>(conditions: readonly C[], condition: C): C[] {
  const index = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[index];
  const dated =
    before && before.status === condition.status
      ? { ...condition, lastTransitionTime: before.lastTransitionTime ?? condition.lastTransitionTime }
      : condition;
  return index < 0 ? [...conditions, dated] : conditions.with(index, dated);
}

/** Returns the condition of a type in an object's status; `undefined` when there is none. */
export const conditionOf = (object: JsonObject, type: string): JsonObject | undefined =>
  objectsAt(statusOf(object), 'conditions').find((condition) => condition['type'] === type);
