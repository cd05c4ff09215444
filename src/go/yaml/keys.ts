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

/** All pairs of a document as they are read: what is within a key before the key, and a key before what is within its value. */
function* pairsOf(node: unknown): Generator<Pair> {
  if (isPair(node)) {
    yield* pairsOf(node.key);
    yield node;
    yield* pairsOf(node.value);
  } else if (isCollection(node)) for (const item of node.items) yield* pairsOf(item);
}

/**
 * The first key of a document that is a list or a mapping, as Go prints it; nothing when all keys are plain. Templates that nobody filled
 * in (`name: {{ x }}`) read like that: Kubernetes' reader refuses them.
 */
export function collectionKey(node: unknown, doc: Document): string | undefined {
  for (const { key } of pairsOf(node)) {
    const meant = isAlias(key) ? key.resolve(doc) : key;
    if (isCollection(meant)) return goSyntax(meant);
  }
  return undefined;
}

/** What stands under the first key that is null (`~: x`), as Go prints it: JSON has no such key. Nothing when there is none. */
export function valueOfNullKey(node: unknown): string | undefined {
  for (const { key, value } of pairsOf(node))
    if (key === null || (isScalar(key) && key.value === null))
      return goSyntax(value).replace(/^interface \{\}\(nil\)$/, '<nil>');
  return undefined;
}

/** A node as Go's `%#v` shows what it was read to. */
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
