import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, visit } from 'yaml';

const isMerge = ({ key }: Pair): boolean => isScalar(key) && key.source === '<<' && key.type === 'PLAIN';

/**
 * Removes keys that a later merge (`<<`) replaces: in Kubernetes' reader the last occurrence of a key counts, whether written
 * or merged, while in YAML written keys take precedence wherever they are.
 */
export function lastWins(doc: Document): void {
  visit(doc, {
    Map: (_key, map) => {
      if (!map.items.slice(1).some(isMerge)) return;
      const remaining = map.items.filter((pair, i) => {
        const later = map.items.slice(i + 1).filter(isMerge);
        if (isMerge(pair) || !isScalar(pair.key)) return true;
        const { value: key } = pair.key;
        return !later.some(({ value }) => keysOf(value, doc).has(key));
      });
      // Of several merges the first takes precedence.
      map.items = [...remaining.filter(isMerge).reverse(), ...remaining.filter((pair) => !isMerge(pair))];
    },
  });
}

/** Returns the keys of a merge. */
function keysOf(source: unknown, doc: Document): ReadonlySet<unknown> {
  const meant = isAlias(source) ? source.resolve(doc) : source;
  if (isSeq(meant)) return new Set(meant.items.flatMap((item) => [...keysOf(item, doc)]));
  if (!isMap(meant)) return new Set();
  return new Set(
    meant.items.flatMap((pair) =>
      isMerge(pair) ? [...keysOf(pair.value, doc)] : isScalar(pair.key) ? [pair.key.value] : [],
    ),
  );
}
