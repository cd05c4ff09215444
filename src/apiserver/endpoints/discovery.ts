import { createHash } from 'node:crypto';
import type { JsonObject } from '../../apimachinery/json.ts';
import { groups, groupVersionOf, type Kind } from '../../apimachinery/kinds.ts';

const gv = (group: string, version: string): string => groupVersionOf({ group, version });

/** Returns `/api`. */
export const coreVersions = (host: string): JsonObject => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: host }],
});

function groupBody(group: string, versions: readonly string[]): JsonObject {
  const all = versions.map((version) => ({ groupVersion: gv(group, version), version }));
  return { name: group, versions: all, preferredVersion: all[0] };
}

/** Returns `/apis`. */
export const groupList = (kinds: readonly Kind[]): JsonObject => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups(kinds)
    .filter(([group]) => group !== '')
    .map(([group, versions]) => groupBody(group, versions)),
});

/** Returns `/apis/GROUP`; `undefined` for an unknown group. */
export function oneGroup(kinds: readonly Kind[], group: string): JsonObject | undefined {
  const found = groups(kinds).find(([name]) => name === group && name !== '');
  return found && { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(found[0], found[1]) };
}

function resourceBody(kind: Kind): JsonObject {
  return {
    name: kind.resource,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: kind.verbs,
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(kind.storageHash !== undefined && { storageVersionHash: kind.storageHash }),
  };
}

const subresourceBodies = (kind: Kind): JsonObject[] =>
  kind.subresources.map((sub) => ({
    name: `${kind.resource}/${sub.name}`,
    singularName: '',
    namespaced: kind.namespaced,
    ...(sub.group && { group: sub.group, version: sub.version }),
    kind: sub.kind,
    verbs: sub.verbs,
  }));

/** Returns `/api/v1` or `/apis/GROUP/VERSION`; `undefined` when it is not served. */
export function resourceList(kinds: readonly Kind[], group: string, version: string): JsonObject | undefined {
  const served = kinds.filter((kind) => kind.group === group && kind.version === version);
  if (served.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion: gv(group, version),
    resources: served.flatMap((kind) => [resourceBody(kind), ...subresourceBodies(kind)]),
  };
}

const kindBody = (kind: string, group = '', version = ''): JsonObject => ({ group, version, kind });

function aggregatedResource(kind: Kind): JsonObject {
  return {
    resource: kind.resource,
    responseKind: kindBody(kind.kind),
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: kind.verbs,
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(kind.subresources.length > 0 && {
      subresources: kind.subresources.map((sub) => ({
        subresource: sub.name,
        responseKind: kindBody(sub.kind, sub.group, sub.version),
        verbs: sub.verbs,
      })),
    }),
  };
}

function aggregated(kinds: readonly Kind[], core: boolean): JsonObject {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups(kinds)
      .filter(([group]) => (group === '') === core)
      .map(([group, versions]) => ({
        metadata: group ? { name: group } : {},
        versions: versions.map((version) => ({
          version,
          resources: kinds
            .filter((kind) => kind.group === group && kind.version === version)
            .map(aggregatedResource),
          freshness: 'Current',
        })),
      })),
  };
}

/** A body with its ETag. */
export interface Tagged {
  readonly text: string;
  readonly etag: string;
}

const cache = new WeakMap<readonly Kind[], Map<boolean, Tagged>>();

/** Returns the aggregated discovery of `/api` (core) or `/apis`, cached by list of kinds. */
export function aggregatedDiscovery(kinds: readonly Kind[], core: boolean): Tagged {
  const documents = cache.get(kinds) ?? new Map<boolean, Tagged>();
  cache.set(kinds, documents);
  let found = documents.get(core);
  if (!found) {
    const document = aggregated(kinds, core);
    found = { text: `${JSON.stringify(document)}\n`, etag: tagOf(document) };
    documents.set(core, found);
  }
  return found;
}

/** Returns the ETag; kube-apiserver computes it without kind and apiVersion. */
function tagOf({ kind: _k, apiVersion: _a, ...rest }: JsonObject): string {
  return `"${createHash('sha512').update(JSON.stringify(rest)).digest('hex').toUpperCase()}"`;
}

/** Reports whether a group and version are served. */
export const isServed = (kinds: readonly Kind[], group: string, version: string): boolean =>
  kinds.some((kind) => kind.group === group && kind.version === version);
/** Reports whether any version of a group is served. */
export const isGroup = (kinds: readonly Kind[], group: string): boolean =>
  kinds.some((kind) => kind.group === group);
