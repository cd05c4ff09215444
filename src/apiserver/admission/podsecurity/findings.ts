import { type JsonObject, objectAt, objectsAt, stringAt } from '../../../apimachinery/json.ts';

/** A pod, or a pod template. */
export interface CheckedPod {
  readonly annotations: JsonObject;
  readonly spec: JsonObject;
}

/** Why a pod violates a check: the kind of the violation, and where it is. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** Returns all containers of a pod: first those that initialize it, last ephemeral ones. */
export const containersOf = (spec: JsonObject): readonly JsonObject[] =>
  ['initContainers', 'containers', 'ephemeralContainers'].flatMap((key) => objectsAt(spec, key));

export const securityOf = (holder: JsonObject): JsonObject => objectAt(holder, 'securityContext');

/** Returns quoted texts, separated by commas. */
export const quoted = (texts: readonly string[]): string => texts.map((text) => `"${text}"`).join(', ');

/** Returns texts sorted, each once. */
export const sorted = (texts: Iterable<string>): readonly string[] => [...new Set(texts)].sort();

export const plural = (one: string, many: string, count: number): string => (count === 1 ? one : many);

/** Returns `container "a"` or `containers "a", "b"`. */
export const named = (containers: readonly JsonObject[]): string =>
  `${plural('container', 'containers', containers.length)} ${quoted(containers.map((one) => stringAt(one, 'name')))}`;

/** Returns who sets something wrong: the pod, containers, or both; `undefined`: none of them. */
export function settersOf(isPod: boolean, containers: readonly JsonObject[]): string | undefined {
  const setters = [...(isPod ? ['pod'] : []), ...(containers.length > 0 ? [named(containers)] : [])];
  return setters.length > 0 ? setters.join(' and ') : undefined;
}

/** Returns the containers with something wrong, and what that is, sorted. */
export function foundIn(
  spec: JsonObject,
  wrongIn: (container: JsonObject) => readonly string[],
): { readonly containers: readonly JsonObject[]; readonly values: readonly string[] } {
  const found = containersOf(spec).map((container) => ({ container, values: wrongIn(container) }));
  const wrong = found.filter(({ values }) => values.length > 0);
  return {
    containers: wrong.map(({ container }) => container),
    values: sorted(wrong.flatMap(({ values }) => values)),
  };
}
