import { setOwn, tableOf } from '../../base/own.ts';
import { createHash } from 'node:crypto';
import { fieldsOf, type Shape, typeNames } from '../../apimachinery/api-types.ts';
import type { Draft, JsonObject } from '../../apimachinery/json.ts';
import { customDefinitions, type DescribedCustom, type References } from './openapi-custom.ts';
import { groups, groupVersionOf, storedKinds, type Kind } from '../../apimachinery/kinds.ts';

/** Go packages in definition names. */
const packages: Readonly<Record<string, string>> = tableOf({
  '': 'io.k8s.api.core',
  'apiextensions.k8s.io': 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  'apiregistration.k8s.io': 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
});
const metaTypes = new Set(
  'ObjectMeta ListMeta OwnerReference ManagedFieldsEntry DeleteOptions Preconditions Status StatusDetails StatusCause LabelSelector LabelSelectorRequirement Condition'.split(
    ' ',
  ),
);

const packageOf = (group: string): string => packages[group] ?? `io.k8s.api.${group.split('.')[0] ?? ''}`;

/** The package of each type: that of the first kind that contains it. */
const homes: ReadonlyMap<string, string> = (() => {
  const found = new Map<string, string>();
  const visit = (type: string, home: string): void => {
    if (found.has(type)) return;
    found.set(type, metaTypes.has(type) ? 'io.k8s.apimachinery.pkg.apis.meta.v1' : home);
    for (const field of fieldsOf(type).values()) {
      let shape: Shape = field.shape;
      while (shape.is === 'list' || shape.is === 'map') shape = shape.of;
      if (shape.is === 'struct') visit(shape.type, home);
    }
  };
  for (const kind of storedKinds) visit(kind.type, `${packageOf(kind.group)}.${kind.version}`);
  for (const type of typeNames()) visit(type, 'io.k8s.api.core.v1');
  return found;
})();

const definitionName = (type: string): string => {
  const bare = type.replace(
    /^(CoreV1|EventsV1|V1beta1|V2|RbacV1|StorageV1|DiscoveryV1|AuthenticationV1)(?=[A-Z])/,
    '',
  );
  return `${homes.get(type) ?? 'io.k8s.api.core.v1'}.${bare}`;
};

const scalarSchemas: Readonly<Record<string, JsonObject>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  time: { type: 'string', format: 'date-time' },
  microtime: { type: 'string', format: 'date-time' },
  bytes: { type: 'string', format: 'byte' },
  quantity: { type: 'string' },
  any: { type: 'object' },
};

type Version = 2 | 3;

const prefix: Readonly<Record<Version, string>> = { 2: '#/definitions/', 3: '#/components/schemas/' };
const intOrString: Readonly<Record<Version, JsonObject>> = {
  2: { type: 'string', format: 'int-or-string' },
  3: { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' },
};

function schemaOf(shape: Shape, version: Version): JsonObject {
  switch (shape.is) {
    case 'scalar':
      return shape.scalar === 'intstr' ? intOrString[version] : (scalarSchemas[shape.scalar] ?? {});
    case 'struct': {
      const $ref = `${prefix[version]}${definitionName(shape.type)}`;
      return version === 3 ? { allOf: [{ $ref }], default: {} } : { $ref };
    }
    case 'map':
      return {
        type: 'object',
        additionalProperties: schemaOf(shape.of, version),
        ...(shape.atomic && { 'x-kubernetes-map-type': 'atomic' }),
      };
    case 'list':
      return { type: 'array', items: schemaOf(shape.of, version), ...listExtensions(shape) };
  }
}

function listExtensions({ merge }: Shape & { is: 'list' }): JsonObject {
  const out: Draft = { 'x-kubernetes-list-type': merge.kind };
  if (merge.keys.length > 0) out['x-kubernetes-list-map-keys'] = merge.keys;
  if (merge.patchKey !== undefined) {
    out['x-kubernetes-patch-strategy'] = merge.retainKeys ? 'merge,retainKeys' : 'merge';
    if (merge.patchKey !== '') out['x-kubernetes-patch-merge-key'] = merge.patchKey;
  }
  return out;
}

const kindsOfType = new Map<string, Kind[]>();
for (const kind of storedKinds) kindsOfType.set(kind.type, [...(kindsOfType.get(kind.type) ?? []), kind]);

/** Returns the schema of a member: in JSON schemas as values of an API, free values may be of any type, elsewhere they are objects. */
function withAnyJson(type: string, schema: JsonObject): JsonObject {
  if (type !== 'JSONSchemaProps') return schema;
  if (schema === scalarSchemas['any']) return {};
  return schema['items'] === scalarSchemas['any'] ? { ...schema, items: {} } : schema;
}

function definition(type: string, version: Version): JsonObject {
  const properties: Draft = {};
  const required: string[] = [];
  for (const field of fieldsOf(type).values()) {
    setOwn(properties, field.name, withAnyJson(type, schemaOf(field.shape, version)));
    if (field.required) required.push(field.name);
  }
  const gvks = (kindsOfType.get(type) ?? []).map(({ group, version: v, kind }) => ({
    group,
    version: v,
    kind,
  }));
  return {
    description: `${definitionName(type).split('.').at(-1) ?? type} of ${definitionName(type).split('.').slice(0, -1).join('.')}`,
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...(gvks.length > 0 && { 'x-kubernetes-group-version-kind': gvks }),
  };
}

function reachable(roots: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (type: string): void => {
    if (found.has(type)) return;
    found.add(type);
    for (const field of fieldsOf(type).values()) {
      let shape: Shape = field.shape;
      while (shape.is === 'list' || shape.is === 'map') shape = shape.of;
      if (shape.is === 'struct') visit(shape.type);
    }
  };
  roots.forEach(visit);
  return [...found].sort();
}

const pathOf = (kind: Kind, item: boolean): string => {
  const root = kind.group ? `/apis/${groupVersionOf(kind)}` : `/api/${kind.version}`;
  return `${root}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.resource}${item ? '/{name}' : ''}`;
};

const isCustom = ({ custom }: Kind): boolean => custom !== undefined;

const gvkOf = ({ group, version, kind }: Kind): JsonObject => ({ group, version, kind });

function operations(kind: Kind, version: Version): JsonObject {
  const patchTypes = [
    'application/json-patch+json',
    'application/merge-patch+json',
    ...(isCustom(kind) ? [] : ['application/strategic-merge-patch+json']),
    'application/apply-patch+yaml',
  ];
  const operation = (action: string): JsonObject => ({
    responses: { 200: { description: 'OK' } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvkOf(kind),
  });
  const query = (name: string): JsonObject => ({
    name,
    in: 'query',
    ...(version === 3 ? { schema: { type: 'string' } } : { type: 'string' }),
  });
  const common = ['dryRun', 'fieldManager', 'fieldValidation'].map(query);
  const out: Draft = {};
  const consumes = (types: readonly string[]): JsonObject =>
    version === 3
      ? { requestBody: { content: Object.fromEntries(types.map((type) => [type, { schema: {} }])) } }
      : { consumes: types };
  if (kind.verbs.includes('create'))
    setOwn(out, pathOf(kind, false), {
      get: operation('list'),
      post: { ...operation('post'), parameters: common, ...consumes(['*/*']) },
    });
  if (kind.verbs.includes('patch'))
    setOwn(out, pathOf(kind, true), {
      get: operation('get'),
      put: { ...operation('put'), parameters: common, ...consumes(['*/*']) },
      patch: { ...operation('patch'), parameters: [...common, query('force')], ...consumes(patchTypes) },
      delete: { ...operation('delete'), parameters: [query('dryRun')] },
    });
  return out;
}

const info = { title: 'Kubernetes', version: 'v1.36.2' };

/** A document and its hash. */
export interface Document {
  readonly text: string;
  readonly hash: string;
}

const documents = new Map<string, Document>();

function documentOf(content: JsonObject): Document {
  const text = JSON.stringify(content);
  return { text, hash: createHash('sha512').update(text).digest('hex').toUpperCase() };
}

function cached(name: string, make: () => JsonObject): Document {
  let found = documents.get(name);
  if (!found) {
    found = documentOf(make());
    documents.set(name, found);
  }
  return found;
}

/** The kinds that the documents describe. */
export interface Described {
  /** Built-in kinds that the server stores. */
  readonly kinds: readonly Kind[];
  /** Custom kinds; the same list as long as no definition changes. */
  readonly customs: readonly DescribedCustom[];
}

const references = (version: Version): References => ({
  version,
  // Go's library drops what stands beside a reference in OpenAPI 3, so it has a wrapper there
  to: (definition) => {
    const $ref = `${prefix[version]}${definition}`;
    return version === 3 ? { allOf: [{ $ref }] } : { $ref };
  },
  nameOf: definitionName,
});

const pathsOf = (kinds: readonly Kind[], version: Version): JsonObject =>
  Object.assign({}, ...kinds.map((kind) => operations(kind, version))) as JsonObject;

const definitionsOf = (customs: readonly DescribedCustom[], version: Version): JsonObject =>
  Object.assign({}, ...customs.map((custom) => customDefinitions(custom, references(version)))) as JsonObject;

/** Documents with custom kinds, by the first of these: they are made again when any of them changes. */
const customDocuments = new WeakMap<
  Kind,
  Map<string, { readonly kinds: readonly Kind[]; readonly document: Document }>
>();

function cachedFor(customs: readonly DescribedCustom[], name: string, make: () => JsonObject): Document {
  const [first] = customs;
  if (!first) return cached(name, make);
  const byName = customDocuments.get(first.kind) ?? new Map<string, never>();
  customDocuments.set(first.kind, byName);
  const kinds = customs.map(({ kind }) => kind);
  const found = byName.get(name);
  if (found?.kinds.length === kinds.length && found.kinds.every((kind, i) => kind === kinds[i]))
    return found.document;
  const document = documentOf(make());
  byName.set(name, { kinds, document });
  return document;
}

/** Returns `/openapi/v2`: every served kind in one Swagger document. */
export const swagger = ({ kinds, customs }: Described): Document =>
  cachedFor(customs, `v2 of ${kinds.length}`, () => ({
    swagger: '2.0',
    info,
    paths: pathsOf([...kinds, ...customs.map(({ kind }) => kind)], 2),
    definitions: {
      ...Object.fromEntries(typeNames().map((type) => [definitionName(type), definition(type, 2)])),
      ...definitionsOf(customs, 2),
    },
  }));

const pathsOfGroups = ({
  kinds,
  customs,
}: Described): readonly (readonly [path: string, group: string, version: string])[] =>
  groups([...kinds, ...customs.map(({ kind }) => kind)]).flatMap(([group, versions]) =>
    versions.map(
      (version) => [group ? `apis/${group}/${version}` : `api/${version}`, group, version] as const,
    ),
  );

/** Returns one group and version as OpenAPI 3; `undefined` when it is not served. */
export function openApi(described: Described, path: string): Document | undefined {
  const found = pathsOfGroups(described).find(([one]) => one === path);
  if (!found) return undefined;
  const [, group, version] = found;
  const isIn = (kind: Kind): boolean => kind.group === group && kind.version === version;
  const customs = described.customs.filter(({ kind }) => isIn(kind));
  const kinds = described.kinds.filter(isIn);
  const shared = customs.length > 0 ? ['ObjectMeta', 'ListMeta'] : [];
  return cachedFor(customs, path, () => ({
    openapi: '3.0.0',
    info,
    paths: pathsOf([...kinds, ...customs.map(({ kind }) => kind)], 3),
    components: {
      schemas: {
        ...Object.fromEntries(
          reachable([...kinds.map((kind) => kind.type), 'DeleteOptions', 'Status', ...shared]).map((type) => [
            definitionName(type),
            definition(type, 3),
          ]),
        ),
        ...definitionsOf(customs, 3),
      },
    },
  }));
}

/** Returns `/openapi/v3`: the URL of each group's document with its hash. */
export const openApiIndex = (described: Described): JsonObject => ({
  paths: Object.fromEntries(
    pathsOfGroups(described).map(([path]) => [
      path,
      { serverRelativeURL: `/openapi/v3/${path}?hash=${openApi(described, path)?.hash ?? ''}` },
    ]),
  ),
});
