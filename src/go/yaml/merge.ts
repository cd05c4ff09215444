import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, visit } from 'yaml';

const isMerge = ({ key }: Pair): boolean => isScalar(key) && key.source === '<<' && key.type === 'PLAIN';

/**
 * Takes out of a document what a merge (`<<`) that stands behind it replaces: to Kubernetes' reader the last of a key counts, whether it
 * was written or merged, while in YAML what is written wins wherever it stands.
 */
export function lastWins(doc: Document): void {
  visit(doc, {
    Map: (_key, map) => {
      if (!map.items.slice(1).some(isMerge)) return;
      const kept = map.items.filter((pair, i) => {
        const later = map.items.slice(i + 1).filter(isMerge);
        if (isMerge(pair) || !isScalar(pair.key)) return true;
        const { value: key } = pair.key;
        return !later.some(({ value }) => keysOf(value, doc).has(key));
      });
      // of several merges the first would win
      map.items = [...kept.filter(isMerge).reverse(), ...kept.filter((pair) => !isMerge(pair))];
    },
  });
}

/** The keys that a merge brings. */
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
