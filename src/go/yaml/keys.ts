import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
} from 'yaml';
import { goQuote } from '../go-quote.ts';

/** Yields all pairs of a document in reading order: those within a key before the key, and a key before those within its value. */
function* pairsOf(node: unknown): Generator<Pair> {
  if (isPair(node)) {
    yield* pairsOf(node.key);
    yield node;
    yield* pairsOf(node.value);
  } else if (isCollection(node)) for (const item of node.items) yield* pairsOf(item);
}

/**
 * Returns the first key that is a list or mapping, as Go prints it; `undefined` when all keys are scalars. Unrendered templates
 * (`name: {{ x }}`) parse like that, and Kubernetes' reader rejects them.
 */
export function collectionKey(node: unknown, doc: Document): string | undefined {
  for (const { key } of pairsOf(node)) {
    const target = isAlias(key) ? key.resolve(doc) : key;
    if (isCollection(target)) return goSyntax(target);
  }
  return undefined;
}

/** Returns the value of the first null key (`~: x`), as Go prints it, as JSON has no such key; `undefined` when there is none. */
export function valueOfNullKey(node: unknown): string | undefined {
  for (const { key, value } of pairsOf(node))
    if (key === null || (isScalar(key) && key.value === null))
      return goSyntax(value).replace(/^interface \{\}\(nil\)$/, '<nil>');
  return undefined;
}

/** Formats a node like Go's `%#v`. */
function goSyntax(node: unknown): string {
  if (isMap<Node, Node | null>(node)) {
    const members = node.items.map(({ key, value }) => `${goSyntax(key)}:${goSyntax(value)}`);
    return `map[interface {}]interface {}{${members.sort().join(', ')}}`;
  }
  if (isSeq(node)) return `[]interface {}{${node.items.map(goSyntax).join(', ')}}`;
  const value = isScalar(node) ? node.value : undefined;
  if (value === undefined || value === null) return 'interface {}(nil)';
  return typeof value === 'string' ? goQuote(value) : JSON.stringify(value);
}
