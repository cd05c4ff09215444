import type { Resource } from '../resources.ts';

/** Query parameters; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const plain = /^[A-Za-z0-9._-]*$/;
const escape = (part: string): string => (plain.test(part) ? part : encodeURIComponent(part));

/** Returns the path of a collection: `/api/v1/namespaces/ns/pods`; without a namespace, of all namespaces. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root =
    resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  return resource.namespaced && namespace !== undefined && namespace !== ''
    ? `${root}/namespaces/${escape(namespace)}/${resource.resource}`
    : `${root}/${resource.resource}`;
}

/** Returns the path of one object or its subresource. */
export function objectPath(
  resource: Resource,
  ref: { readonly namespace?: string; readonly name: string },
  subresource?: string,
): string {
  const path = `${collectionPath(resource, ref.namespace)}/${escape(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Returns `path` with the parameters of `query` that have a value. */
export function withQuery(path: string, query: Query): string {
  let result = path;
  let mark = '?';
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === false || value === '') continue;
    result += `${mark}${name}=${encodeURIComponent(value)}`;
    mark = '&';
  }
  return result;
}
