import { type Faults, invalid, oneOf, required } from '../../../kube/validation/field-error.ts';
import { type JsonObject, listAt, textOf } from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes = ['*', 'Cluster', 'Namespaced'];

function* operationFaults(field: string, list: readonly string[], allowed: readonly string[]): Faults {
  if (list.length === 0) yield required(field);
  if (list.length > 1 && list.includes('*'))
    yield invalid(field, list, "if '*' is present, must not specify other operations");
  for (const [i, operation] of list.entries()) yield* oneOf(`${field}[${i}]`, operation, allowed);
}

/** Validates that wildcards of resources and subresources do not include others. */
function* resourceFaults(field: string, list: readonly string[]): Faults {
  if (list.length === 0) yield required(field);
  yield* subresourceFaults(field, list);
  if (list.length > 1 && list.includes('*/*'))
    yield invalid(field, list, "if '*/*' is present, must not specify other resources");
  // the last resource without a subresource decides
  const plain = list.findLast((name) => name !== '' && !name.includes('/'));
  if (list.includes('*') && plain !== '*')
    yield invalid(field, list, "if '*' is present, must not specify other resources without subresources");
}

function* subresourceFaults(field: string, list: readonly string[]): Faults {
  const [whole, anywhere] = [new Set<string>(), new Set<string>()];
  for (const [i, name] of list.entries()) {
    if (name === '') yield required(`${field}[${i}]`);
    const cut = name.indexOf('/');
    if (cut < 0) continue;
    const [resource, sub] = [name.slice(0, cut), name.slice(cut + 1)];
    if (whole.has(resource))
      yield invalid(`${field}[${i}]`, name, `if '${resource}/*' is present, must not specify ${name}`);
    if (anywhere.has(sub))
      yield invalid(`${field}[${i}]`, name, `if '*/${sub}' is present, must not specify ${name}`);
    if (sub === '*') whole.add(resource);
    if (resource === '*') anywhere.add(sub);
  }
}

/** Validates which requests a rule is about. @param allowed the operations that it may name */
export function* ruleFaults(
  field: string,
  rule: JsonObject,
  allowed: readonly string[] = operations,
): Faults {
  const list = (key: string): readonly string[] => listAt(rule, key).map(textOf);
  yield* operationFaults(`${field}.operations`, list('operations'), allowed);
  for (const [key, what] of [
    ['apiGroups', 'API groups'],
    ['apiVersions', 'API versions'],
  ] as const) {
    const names = list(key);
    if (names.length === 0) yield required(`${field}.${key}`);
    if (names.length > 1 && names.includes('*'))
      yield invalid(`${field}.${key}`, names, `if '*' is present, must not specify other ${what}`);
  }
  for (const [i, version] of list('apiVersions').entries())
    if (version === '') yield required(`${field}.apiVersions[${i}]`);
  yield* resourceFaults(`${field}.resources`, list('resources'));
  const scope = ownMember(rule, 'scope');
  if (scope !== undefined) yield* oneOf(`${field}.scope`, textOf(scope), scopes);
}
