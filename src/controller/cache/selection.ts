import { labelMatcher, fieldMatcher, fieldTerms, type Matcher } from '../../apimachinery/selectors.ts';
import { findByKind } from '../../apimachinery/kinds.ts';
import { apiVersionOf, kindKey } from '../kinds.ts';
import { jsonOf } from '../json-value.ts';
import type { CacheOptions, Kind, KindCacheOptions, KubeObject, NamespaceCacheOptions } from '../types.ts';

/** Key of `namespaces` for all namespaces that have no options of their own. */
export const allNamespaces = '';

/** What a cache holds of one kind. */
export interface Selection {
  /** `''` stands for all namespaces. */
  readonly namespaces: readonly (NamespaceCacheOptions & { readonly namespace: string })[];
  readonly frozen: boolean;
  readonly keepManagedFields: boolean;
  /** ms; 0: never. */
  readonly syncPeriod: number;
}

/** Ten hours. */
const defaultSyncPeriodMs = 36_000_000;

type Namespaces = KindCacheOptions['namespaces'];

/**
 * Returns what a cache holds of a kind: the kind's own options first, then the cache's defaults; namespaces have options of their own before
 * both.
 */
export function selectionOf(options: CacheOptions, kind: Kind): Selection {
  const own: Partial<KindCacheOptions> =
    options.byKind?.find((one) => kindKey(one.kind) === kindKey(kind)) ?? {};
  const defaults = selectors({
    labelSelector: options.defaultLabelSelector,
    fieldSelector: options.defaultFieldSelector,
    transform: options.defaultTransform,
  });
  const ofKind = { ...defaults, ...selectors(own) };
  const named = own.namespaces ?? options.defaultNamespaces;
  return {
    namespaces: kind.namespaced ? namespacesOf(named, ofKind) : [{ namespace: allNamespaces, ...ofKind }],
    frozen: own.frozen ?? options.frozen ?? false,
    keepManagedFields: options.keepManagedFields ?? false,
    syncPeriod: own.syncPeriod ?? options.syncPeriod ?? defaultSyncPeriodMs,
  };
}

function namespacesOf(named: Namespaces, defaults: NamespaceCacheOptions): Selection['namespaces'] {
  const entries: [string, NamespaceCacheOptions][] = isNames(named)
    ? named.map((namespace) => [namespace, {}])
    : Object.entries(named ?? {});
  if (entries.length === 0) return [{ namespace: allNamespaces, ...defaults }];
  return entries.map(([namespace, options]) => ({ namespace, ...defaults, ...selectors(options) }));
}

const isNames = (named: Namespaces): named is readonly string[] => Array.isArray(named);

/** Returns the selectors and the transform that are set. */
const selectors = ({
  labelSelector,
  fieldSelector,
  transform,
}: {
  readonly [Name in keyof NamespaceCacheOptions]?: NamespaceCacheOptions[Name] | undefined;
}): NamespaceCacheOptions => ({
  ...(labelSelector !== undefined && { labelSelector }),
  ...(fieldSelector !== undefined && { fieldSelector }),
  ...(transform && { transform }),
});

/** Reports whether a cache with this selection holds an object; undefined when only the server can tell. */
export function selects({ namespaces }: Selection, kind: Kind, object: KubeObject): boolean | undefined {
  const namespace = object.metadata?.namespace ?? '';
  const part =
    namespaces.find((one) => one.namespace === namespace) ??
    namespaces.find((one) => one.namespace === allNamespaces);
  if (!part) return false;
  const { labelSelector = '', fieldSelector = '' } = part;
  if (labelSelector !== '' && !labelMatcher(labelSelector)(jsonOf(object))) return false;
  if (fieldSelector === '') return true;
  return matcherOf(fieldSelector, kind)?.(jsonOf(object));
}

function matcherOf(fieldSelector: string, kind: Kind): Matcher | undefined {
  const built = findByKind(apiVersionOf(kind), kind.kind);
  return built && fieldMatcher(fieldTerms(fieldSelector), built);
}
