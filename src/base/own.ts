/**
 * Looks into objects whose keys come from outside. Every object inherits `constructor`, `toString` and `__proto__`: a label, a resource or
 * an operation of such a name must be found only where somebody put it. ESLint's `own-keys/own-keys` holds the code to these functions.
 */

/** The member of an object itself; `undefined` for one that is not there or is inherited. */
export const ownMember = <T>(holder: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  holder !== undefined && Object.hasOwn(holder, key) ? holder[key] : undefined;

/** Sets a member of an object itself: `__proto__` becomes a member as any other, instead of changing what the object inherits. */
export function setOwn<T>(holder: Record<string, T>, key: string, value: NoInfer<T>): void {
  if (key === '__proto__')
    Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
  else holder[key] = value;
}

/**
 * A constant table that inherits nothing, so that it may be looked into with any key.
 *
 * @example
 * const verbs: Readonly<Record<string, string>> = tableOf({ GET: 'get', POST: 'create' });
 * verbs[request.method]; // `undefined` for a method `constructor`
 */
export const tableOf = <T extends object>(entries: T): T =>
  Object.freeze(Object.assign(Object.create(null) as object, entries));
