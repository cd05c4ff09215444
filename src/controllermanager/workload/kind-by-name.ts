import { storedKinds } from '../../apimachinery/kinds.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Kind, Reader } from '../../controller/types.ts';

/** A namespaced kind that a reference names. */
export interface NamedKind extends Kind {
  /** Whether its objects have the subresource `scale`. */
  readonly hasScale: boolean;
}

/**
 * Returns a kind by the API version and the name in a reference: a built-in one, or that of a CustomResourceDefinition.
 *
 * @throws {Error} when there is none
 */
export async function kindByName(
  reader: Reader,
  { apiVersion, kind: name }: { readonly apiVersion: string; readonly kind: string },
  signal: AbortSignal,
): Promise<NamedKind> {
  const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const builtIn = storedKinds.find((kind) => kind.group === group && kind.kind === name);
  if (builtIn)
    return {
      ...builtIn,
      namespaced: true,
      hasScale: builtIn.subresources.some((one) => one.name === 'scale'),
    };
  const all = await reader.list(kinds.CustomResourceDefinition, { signal });
  const custom = all.find(({ spec }) => spec.group === group && spec.names.kind === name);
  if (!custom) throw new Error(`no matches for kind "${name}" in group "${group}"`);
  const served =
    custom.spec.versions.find((one) => one.name === version) ??
    (version === undefined ? custom.spec.versions[0] : undefined);
  return {
    group,
    version: version ?? served?.name ?? '',
    kind: name,
    resource: custom.spec.names.plural,
    namespaced: true,
    hasScale: served?.subresources?.scale !== undefined,
  };
}
