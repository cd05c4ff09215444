import { type Document, isAlias, isCollection, isMap, isPair, isScalar, isSeq, type Node } from 'yaml';
import { goQuote } from '../base/go-quote.ts';

/**
 * The first key of a document that is a list or a mapping, as Go prints it; nothing when all keys are plain. Templates that nobody filled
 * in (`name: {{ x }}`) read like that: Kubernetes' reader refuses them. A key is read, and judged, before the value beside it.
 */
export function collectionKey(node: unknown, doc: Document): string | undefined {
  if (isPair(node)) {
    const inner = collectionKey(node.key, doc);
    if (inner !== undefined) return inner;
    const key = isAlias(node.key) ? node.key.resolve(doc) : node.key;
    return isCollection(key) ? goSyntax(key) : collectionKey(node.value, doc);
  }
  if (!isCollection(node)) return undefined;
  for (const item of node.items) {
    const found = collectionKey(item, doc);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What stands under the first key that is null (`~: x`), as Go prints it: JSON has no such key. Nothing when there is none. */
export function valueOfNullKey(node: unknown): string | undefined {
  if (isPair(node)) {
    const isNull = isScalar(node.key) ? node.key.value === null : node.key === null;
    return isNull
      ? goSyntax(node.value).replace(/^interface \{\}\(nil\)$/, '<nil>')
      : valueOfNullKey(node.value);
  }
  if (!isCollection(node)) return undefined;
  for (const item of node.items) {
    const found = valueOfNullKey(item);
    if (found !== undefined) return found;
  }
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
