/**
 * Returns a list whose elements are made when it is first looked into, for arguments that most callees ignore and that are expensive to
 * make.
 *
 * @example
 * const pods = lazyList(() => everyPod().filter(isActive)); // nothing is filtered yet
 * pods.length; // now it is
 */
export function lazyList<T>(make: () => readonly T[]): readonly T[] {
  const list: T[] = [];
  let isMade = false;
  const made = (): T[] => {
    if (isMade) return list;
    isMade = true;
    for (const element of make()) list.push(element);
    return list;
  };
  return new Proxy(list, {
    get: (_target, key) => Reflect.get(made(), key) as unknown,
    has: (_target, key) => Reflect.has(made(), key),
    ownKeys: () => Reflect.ownKeys(made()),
    getOwnPropertyDescriptor: (_target, key) => Reflect.getOwnPropertyDescriptor(made(), key),
  });
}
