import { AgentError } from '../../base/errors.ts';
import { invalid, fault as fieldFault } from '../../apimachinery/status-error.ts';
import type { StatusError } from '../../apimachinery/status-error.ts';
import { ApiError } from '../../api/client.ts';
import { apiVersionOf } from '../kinds.ts';
import type { Kind, KubeObject, ListOptions, ObjectKey, ObjectList } from '../types.ts';

/** Returns a label selector as text. */
export function labelSelectorOf(labels: ListOptions['labels']): string | undefined {
  if (labels === undefined || typeof labels === 'string') return labels === '' ? undefined : labels;
  const terms = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return terms.length === 0 ? undefined : terms.join(',');
}

/** Returns a field selector as text; commas, equal signs and backslashes of values are escaped. */
export function fieldSelectorOf(fields: ListOptions['fields']): string | undefined {
  const terms = Object.entries(fields ?? {}).map(
    ([field, value]) => `${field}=${value.replace(/[\\,=]/g, '\\$&')}`,
  );
  return terms.length === 0 ? undefined : terms.join(',');
}

/** Returns the key of an object, or the key itself. */
export function keyOf(object: KubeObject | ObjectKey): { namespace: string; name: string } {
  const metadata = (object as KubeObject).metadata;
  const { namespace, name } = metadata ?? (object as Partial<ObjectKey>);
  return { namespace: namespace ?? '', name: name ?? '' };
}

/** Returns a key as the API's paths have it: without a namespace for cluster-scoped kinds. @throws {AgentError} `invalid_argument` */
export function refOf(kind: Kind, object: KubeObject | ObjectKey): { namespace?: string; name: string } {
  const { namespace, name } = keyOf(object);
  if (name === '')
    throw new AgentError('invalid_argument', `${kind.kind}: the name of the object may not be empty`);
  if (!kind.namespaced) return { name };
  if (namespace === '')
    throw new AgentError(
      'invalid_argument',
      `${kind.kind} ${JSON.stringify(name)}: a namespace must be set, as the kind is namespaced`,
    );
  return { namespace, name };
}

/**
 * Returns an object with the `apiVersion` and `kind` of its kind, and without a namespace if the kind has none.
 *
 * @throws {AgentError} `invalid_argument` for an object of another kind
 */
export function withKind<T extends KubeObject>(kind: Kind<T>, object: T): T {
  const apiVersion = apiVersionOf(kind);
  const differs = (own: string | undefined, right: string): boolean =>
    own !== undefined && own !== '' && own !== right;
  if (differs(object.apiVersion, apiVersion) || differs(object.kind, kind.kind))
    throw new AgentError(
      'invalid_argument',
      `the object is of kind ${object.apiVersion ?? ''} ${object.kind ?? ''}, but the call is for ${apiVersion} ${kind.kind}`,
    );
  const named = { ...object, apiVersion, kind: kind.kind };
  if (kind.namespaced || object.metadata?.namespace === undefined) return named;
  const { namespace: _none, ...metadata } = object.metadata;
  return { ...named, metadata };
}

/** Returns the objects of a list with what a list has besides them. */
export function objectList<T extends KubeObject>(
  items: readonly T[],
  about: {
    readonly continue?: string;
    readonly resourceVersion?: string;
    readonly remainingItemCount?: number;
  },
): ObjectList<T> {
  const member = (value: unknown): PropertyDescriptor => ({ value, enumerable: false, configurable: true });
  return Object.defineProperties(items, {
    continue: member(about.continue ?? ''),
    resourceVersion: member(about.resourceVersion ?? ''),
    remainingItemCount: member(about.remainingItemCount),
  }) as ObjectList<T>;
}

/** Returns the error of a server's Status, as clients have it. */
export const apiErrorOf = (error: StatusError): ApiError => new ApiError(error.code, error.body);

/** Checks the options of a patch as the API server does. @throws {ApiError} 422 */
export function checkPatchOptions(
  type: string,
  options: { readonly fieldOwner?: string | undefined; readonly force?: boolean | undefined },
): void {
  const { fieldOwner = '', force } = options;
  const faults =
    type === 'apply'
      ? fieldOwner === ''
        ? [fieldFault.required('fieldManager', 'is required for apply patch')]
        : []
      : force === undefined
        ? []
        : [fieldFault.forbidden('force', 'may not be specified for non-apply patch')];
  if (faults.length > 0) throw apiErrorOf(invalid('PatchOptions', 'meta.k8s.io', '', faults));
}
