import { ownMember, tableOf } from '../base/own.ts';
import { AgentError } from '../base/errors.ts';
import { splitSubscript } from './field-path.ts';
import { goQuote } from '../go/go-quote.ts';
import type { KubeObject, ObjectMeta } from './types.ts';
import { qualifiedNameRule } from './validation/name-rules.ts';

/** Formats a map for the downward API: `key="value"` lines sorted by key. Follows `fieldpath.FormatMap`. */
export const formatMap = (map: Readonly<Record<string, string>> | undefined): string =>
  Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join('\n');

function subscripted(object: KubeObject, fieldPath: string, path: string, key: string): string {
  if (path !== 'metadata.annotations' && path !== 'metadata.labels')
    throw new AgentError('invalid_argument', `fieldPath ${goQuote(fieldPath)} does not support subscript`);
  const isAnnotation = path === 'metadata.annotations';
  const faults = qualifiedNameRule(isAnnotation ? key.toLowerCase() : key);
  if (faults.length > 0)
    throw new AgentError('invalid_argument', `invalid key subscript in ${fieldPath}: ${faults.join(';')}`);
  const map = (isAnnotation ? object.metadata?.annotations : object.metadata?.labels) ?? {};
  return Object.hasOwn(map, key) ? (ownMember(map, key) ?? '') : '';
}

const plainFields: Readonly<Record<string, (metadata: ObjectMeta) => string>> = tableOf({
  'metadata.annotations': ({ annotations }) => formatMap(annotations),
  'metadata.labels': ({ labels }) => formatMap(labels),
  'metadata.name': ({ name }) => name ?? '',
  'metadata.namespace': ({ namespace }) => namespace ?? '',
  'metadata.uid': ({ uid }) => uid ?? '',
});

/**
 * Returns a metadata field of an object as text, for volumes and variables. Follows `fieldpath.ExtractFieldPathAsString`.
 *
 * @throws {AgentError} `invalid_argument` for an unsupported path
 */
export function fieldValue(object: KubeObject, fieldPath: string): string {
  const { path, subscript } = splitSubscript(fieldPath);
  if (subscript !== undefined) return subscripted(object, fieldPath, path, subscript);
  const read = plainFields[fieldPath];
  if (!read) throw new AgentError('invalid_argument', `unsupported fieldPath: ${fieldPath}`);
  return read(object.metadata ?? {});
}
