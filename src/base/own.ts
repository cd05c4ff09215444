/**
 * Access to objects whose keys come from outside. Every object inherits `constructor`, `toString` and `__proto__`; a label, resource or
 * operation with such a name must be found only when it was set. The ESLint rule `own-keys/own-keys` enforces the use of these functions.
 */

/** The object's own member; `undefined` when it is missing or inherited. */
export const ownMember = <T>(holder: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  holder !== undefined && Object.hasOwn(holder, key) ? holder[key] : undefined;

/** Sets an own member of an object. `__proto__` becomes a member like any other instead of changing the prototype. */
export function setOwn<T>(holder: Record<string, T>, key: string, value: NoInfer<T>): void {
  if (key === '__proto__')
    Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
  else holder[key] = value;
}

/**
 * Makes a constant table without a prototype, so that any key can be looked up safely.
 *
 * @example
 * const verbs: Readonly<Record<string, string>> = tableOf({ GET: 'get', POST: 'create' });
 * verbs[request.method]; // `undefined` for a method `constructor`
 */
export const tableOf = <T extends object>(entries: T): T =>
  Object.freeze(Object.assign(Object.create(null) as object, entries));
