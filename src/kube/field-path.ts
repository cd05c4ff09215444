/** A field path with a subscript: `metadata.labels['app']`. */
export interface SubscriptedPath {
  readonly path: string;
  readonly subscript?: string;
}

/** Splits `path['key']`; other text is returned as the path (`fieldpath.SplitMaybeSubscriptedPath`). */
export function splitSubscript(fieldPath: string): SubscriptedPath {
  const [, path, subscript] = /^(.+?)\['(.*)'\]$/s.exec(fieldPath) ?? [];
  return path !== undefined && subscript !== undefined ? { path, subscript } : { path: fieldPath };
}

const fieldLabels: ReadonlySet<string> = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);

/** Returns the current name of a downward API field, or an error for unknown fields (`ConvertDownwardAPIFieldLabel`). */
export function downwardField(
  apiVersion: string,
  label: string,
): { readonly path: string } | { readonly error: string } {
  if (apiVersion !== 'v1') return { error: `unsupported pod version: ${apiVersion}` };
  const { path, subscript } = splitSubscript(label);
  if (subscript !== undefined)
    return path === 'metadata.annotations' || path === 'metadata.labels'
      ? { path: label }
      : { error: `field label does not support subscript: ${label}` };
  if (label === 'spec.host') return { path: 'spec.nodeName' };
  return fieldLabels.has(label) ? { path: label } : { error: `field label not supported: ${label}` };
}
