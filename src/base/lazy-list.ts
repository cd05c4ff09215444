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
  let isFilled = false;
  const content = (): T[] => {
    if (isFilled) return list;
    isFilled = true;
    for (const element of make()) list.push(element);
    return list;
  };
  return new Proxy(list, {
    get: (_target, key) => Reflect.get(content(), key) as unknown,
    has: (_target, key) => Reflect.has(content(), key),
    ownKeys: () => Reflect.ownKeys(content()),
    getOwnPropertyDescriptor: (_target, key) => Reflect.getOwnPropertyDescriptor(content(), key),
  });
}
