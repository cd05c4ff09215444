import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, visit } from 'yaml';

const isMerge = ({ key }: Pair): boolean => isScalar(key) && key.source === '<<' && key.type === 'PLAIN';

/**
 * Removes keys that a later merge (`<<`) replaces: in Kubernetes' reader the last occurrence of a key counts, whether written
 * or merged, while in YAML written keys take precedence wherever they are.
 */
export function lastWins(doc: Document): void {
  let keys: MergeKeys | undefined;
  visit(doc, {
    Map: (_key, map) => {
      if (!map.items.slice(1).some(isMerge)) return;
      const pairs = notReplaced(map.items, (keys ??= new MergeKeys(doc)));
      // Of several merges the first takes precedence.
      map.items = [...pairs.filter(isMerge).reverse(), ...pairs.filter((pair) => !isMerge(pair))];
    },
  });
}

/** Returns the merges, and the pairs whose key no later merge has. */
function notReplaced(pairs: readonly Pair[], keys: MergeKeys): Pair[] {
  const merged = new Set<unknown>();
  const remaining: Pair[] = [];
  for (const pair of pairs.toReversed()) {
    if (isMerge(pair)) for (const key of keys.of(pair.value)) merged.add(key);
    else if (isScalar(pair.key) && merged.has(pair.key.value)) continue;
    remaining.push(pair);
  }
  return remaining.reverse();
}

/** MergeKeys returns the keys of merges. Each alias and each map is resolved once, however many merges refer to it. */
class MergeKeys {
  readonly #targets = new Map<unknown, unknown>();
  readonly #keys = new Map<unknown, Set<unknown>>();

  constructor(doc: Document) {
    const anchors = new Map<string, unknown>();
    visit(doc, {
      Node: (_key, node) => {
        if (isAlias(node)) this.#targets.set(node, anchors.get(node.source));
        else if (node.anchor !== undefined) anchors.set(node.anchor, node);
      },
    });
  }

  of(source: unknown): ReadonlySet<unknown> {
    const target = isAlias(source) ? this.#targets.get(source) : source;
    const cached = this.#keys.get(target);
    if (cached) return cached;
    const keys = new Set<unknown>();
    this.#keys.set(target, keys); // before the content, which may refer to the map itself
    const addAll = (other: unknown): void => {
      for (const key of this.of(other)) keys.add(key);
    };
    if (isSeq(target)) target.items.forEach(addAll);
    else if (isMap(target))
      for (const pair of target.items)
        if (isMerge(pair)) addAll(pair.value);
        else if (isScalar(pair.key)) keys.add(pair.key.value);
    return keys;
  }
}
