import { setOwn, tableOf } from '../../base/own.ts';
import {
  fieldsOf,
  goName,
  isAtomicStruct,
  isMandatory,
  type FieldType,
  type Scalar,
  type Shape,
  typeNames,
} from '../../apimachinery/api-types.ts';
import type { Draft, JsonObject } from '../../apimachinery/json.ts';
import { type Kind, storedKinds } from '../../apimachinery/kinds.ts';
import { type Descriptions, descriptionsOf, fieldDescription } from './openapi-descriptions.ts';

/** Version of OpenAPI. */
export type Version = 2 | 3;

/** Go packages in definition names. */
const packages: Readonly<Record<string, string>> = tableOf({
  '': 'io.k8s.api.core',
  'apiextensions.k8s.io': 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  'apiregistration.k8s.io': 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
});
const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const metaTypes = new Set(
  `ObjectMeta ListMeta OwnerReference ManagedFieldsEntry DeleteOptions Preconditions Status StatusDetails StatusCause LabelSelector
   LabelSelectorRequirement FieldSelectorRequirement Condition ShardInfo APIGroup APIGroupList APIResource APIResourceList APIVersions
   GroupVersionForDiscovery ServerAddressByClientCIDR`.split(/\s+/),
);

/** Types whose package is not that of the kinds that contain them. */
const apartTypes: Readonly<Record<string, string>> = tableOf({
  AuthenticationV1TokenRequest: 'io.k8s.api.authentication.v1',
  Scale: 'io.k8s.api.autoscaling.v1',
  Eviction: 'io.k8s.api.policy.v1',
  // of storage classes, in the package of the core
  TopologySelectorTerm: 'io.k8s.api.core.v1',
});

const packageOf = (group: string): string => packages[group] ?? `io.k8s.api.${group.split('.')[0] ?? ''}`;

/** Returns the type of the structs within a shape; undefined when there are none. */
function structIn(shape: Shape): string | undefined {
  let inner = shape;
  while (inner.is === 'list' || inner.is === 'map') inner = inner.of;
  return inner.is === 'struct' ? inner.type : undefined;
}

/** The package of each type: that of the first kind that contains it. */
const homes: ReadonlyMap<string, string> = (() => {
  const found = new Map<string, string>();
  const visit = (type: string, home: string): void => {
    if (found.has(type)) return;
    found.set(type, metaTypes.has(type) ? meta : home);
    for (const field of fieldsOf(type).values()) {
      const inner = structIn(field.shape);
      if (inner !== undefined) visit(inner, home);
    }
  };
  for (const [type, home] of Object.entries(apartTypes)) visit(type, home);
  for (const kind of storedKinds) visit(kind.type, `${packageOf(kind.group)}.${kind.version}`);
  for (const type of typeNames()) visit(type, 'io.k8s.api.core.v1');
  return found;
})();

/** Returns the name of the definition of a type: `io.k8s.api.core.v1.Pod`. */
export const definitionName = (type: string): string =>
  `${homes.get(type) ?? 'io.k8s.api.core.v1'}.${goName(type)}`;

/** Returns the name of the definition of lists of a type. */
export const listName = (type: string): string => `${definitionName(type)}List`;

const date: JsonObject = { type: 'string', format: 'date-time' };

interface Common {
  readonly name: string;
  readonly schema: Readonly<Record<Version, JsonObject>>;
}

const same = (name: string, description: string, schema: JsonObject): Common => {
  const described = { description, ...schema };
  return { name, schema: { 2: described, 3: described } };
};

/** Definitions of values with a text or number of their own. */
const commons: Readonly<Partial<Record<Scalar | 'patch' | 'event' | 'fields', Common>>> = {
  time: same(`${meta}.Time`, 'A time of RFC 3339, to the second: 2026-01-31T12:00:00Z.', date),
  microtime: same(`${meta}.MicroTime`, 'A time of RFC 3339 with microseconds.', date),
  quantity: {
    name: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
    schema: (() => {
      const description =
        'A fixed-point number with an optional suffix: decimal (m, k, M, G, T, P, E), binary (Ki, Mi, Gi, Ti, Pi, Ei) or an exponent (e3). Examples: 100m, 1.5, 2Gi, 1e3.';
      return {
        2: { description, type: 'string' },
        3: { description, oneOf: [{ type: 'string' }, { type: 'number' }] },
      };
    })(),
  },
  intstr: {
    name: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
    schema: (() => {
      const description =
        'A whole number or a text, such as a port or its name, or an amount or a percentage.';
      return {
        2: { description, type: 'string', format: 'int-or-string' },
        3: { description, oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' },
      };
    })(),
  },
  any: same('io.k8s.apimachinery.pkg.runtime.RawExtension', 'Any object; its own type says what it means.', {
    type: 'object',
  }),
  fields: same(
    `${meta}.FieldsV1`,
    'A set of fields as a tree: "f:" before the name of a field, "k:" before keys of a list\'s item, "v:" before a value.',
    {
      type: 'object',
    },
  ),
  patch: same(`${meta}.Patch`, 'A change of an object; the media type says in which format.', {
    type: 'object',
  }),
  event: same(`${meta}.WatchEvent`, 'A change that a watch reports.', {
    type: 'object',
    required: ['type', 'object'],
    properties: {
      type: {
        description: 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.',
        type: 'string',
      },
      object: { description: 'The object after the change, or a Status after an error.', type: 'object' },
    },
  }),
};

/** Name of the definition of bodies of patches. */
export const patchName: string = meta.concat('.Patch');
/** Name of the definition of a watch's events. */
export const watchEventName: string = meta.concat('.WatchEvent');

const commonByName = new Map(Object.values(commons).map((common) => [common.name, common]));
const typeByName = new Map(typeNames().map((type) => [definitionName(type), type]));
const kindsOfType = new Map<string, Kind[]>();
for (const kind of storedKinds) kindsOfType.set(kind.type, [...(kindsOfType.get(kind.type) ?? []), kind]);
/** Kinds that only subresources have. */
const kindsOfSubresources: Readonly<Record<string, Pick<Kind, 'group' | 'version' | 'kind'>>> = tableOf({
  AuthenticationV1TokenRequest: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
  Scale: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  Eviction: { group: 'policy', version: 'v1', kind: 'Eviction' },
  Status: { group: '', version: 'v1', kind: 'Status' },
  DeleteOptions: { group: '', version: 'v1', kind: 'DeleteOptions' },
});
const kindOfList = new Map(storedKinds.map((kind) => [listName(kind.type), kind]));

const scalarSchemas: Readonly<Record<string, JsonObject>> = tableOf({
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
});

/** What Go writes for a value that is not set. */
const zeros: Readonly<Record<string, unknown>> = tableOf({
  string: '',
  boolean: false,
  int32: 0,
  int64: 0,
  double: 0,
});

const prefix: Readonly<Record<Version, string>> = { 2: '#/definitions/', 3: '#/components/schemas/' };

function listExtensions({ merge }: Shape & { is: 'list' }): JsonObject {
  const out: Draft = { 'x-kubernetes-list-type': merge.kind };
  if (merge.keys.length > 0) out['x-kubernetes-list-map-keys'] = merge.keys;
  if (merge.patchKey !== undefined) {
    out['x-kubernetes-patch-strategy'] = merge.retainKeys ? 'merge,retainKeys' : 'merge';
    if (merge.patchKey !== '') out['x-kubernetes-patch-merge-key'] = merge.patchKey;
  }
  return out;
}

const gvkOf = ({ group, version, kind }: Pick<Kind, 'group' | 'version' | 'kind'>): JsonObject => ({
  group,
  kind,
  version,
});

/** Makes the definitions of one document, and records which of them are referred to. */
export class Schemas {
  readonly version: Version;
  readonly #names = new Set<string>();

  constructor(version: Version) {
    this.version = version;
  }

  /** Returns a reference; the definition will be in {@link definitions}. */
  readonly ref = (definition: string): JsonObject => {
    this.#names.add(definition);
    return { $ref: `${prefix[this.version]}${definition}` };
  };

  /** Returns a reference beside which other members may stand: Go's library drops them in OpenAPI 3, so it has a wrapper there. */
  readonly wrapped = (definition: string): JsonObject => {
    const ref = this.ref(definition);
    return this.version === 3 ? { allOf: [ref] } : ref;
  };

  /** Returns the definitions that are referred to, and those that these refer to. */
  definitions(): JsonObject {
    const out: Draft = {};
    // a set that grows while it is read is read to its end
    for (const name of this.#names) {
      const definition = this.#definition(name);
      if (definition) setOwn(out, name, definition);
    }
    return Object.fromEntries(Object.entries(out).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #definition(name: string): JsonObject | undefined {
    const common = commonByName.get(name);
    if (common) return common.schema[this.version];
    const type = typeByName.get(name);
    if (type !== undefined) return this.#struct(type);
    const kind = kindOfList.get(name);
    return kind && this.#list(kind);
  }

  #struct(type: string): JsonObject {
    const texts = descriptionsOf(type);
    const properties: Draft = {};
    const required: string[] = [];
    for (const field of fieldsOf(type).values()) {
      const description = fieldDescription(texts, type, field.name, structIn(field.shape));
      setOwn(properties, field.name, {
        ...(description !== undefined && { description }),
        ...this.#member(type, field),
      });
      if (isMandatory(type, field.name)) required.push(field.name);
    }
    const apart = kindsOfSubresources[type];
    const gvks = (kindsOfType.get(type) ?? (apart ? [apart] : [])).map(gvkOf);
    return {
      description:
        texts.type || `${goName(type)} of ${definitionName(type).split('.').slice(0, -1).join('.')}`,
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      ...(gvks.length > 0 && { 'x-kubernetes-group-version-kind': gvks }),
      ...(isAtomicStruct(type) && { 'x-kubernetes-map-type': 'atomic' }),
    };
  }

  #list(kind: Kind): JsonObject {
    const { kind: name, type } = kind;
    const texts = descriptionsOf(`${type}List`);
    const text = { type: 'string' };
    return {
      description: texts.type || `${name}List is a list of ${name}`,
      type: 'object',
      properties: {
        apiVersion: { ...describing(texts, 'apiVersion'), ...text },
        items: { ...describing(texts, 'items'), type: 'array', items: this.ref(definitionName(type)) },
        kind: { ...describing(texts, 'kind'), ...text },
        metadata: { description: 'Metadata of the list.', ...this.wrapped(definitionName('ListMeta')) },
      },
      required: ['items'],
      'x-kubernetes-group-version-kind': [gvkOf({ ...kind, kind: `${name}List` })],
    };
  }

  #member(type: string, field: FieldType): JsonObject {
    if (field.name === 'fieldsV1') return this.wrapped(`${meta}.FieldsV1`);
    const schema = withAnyJson(type, field.shape, this.#schema(field.shape));
    if (this.version === 2) return schema;
    if (field.shape.is === 'struct') return field.always ? { ...schema, default: {} } : schema;
    const zero = field.shape.is === 'scalar' && !field.pointer ? zeros[field.shape.scalar] : undefined;
    return zero !== undefined && isMandatory(type, field.name) ? { ...schema, default: zero } : schema;
  }

  #schema(shape: Shape): JsonObject {
    switch (shape.is) {
      case 'scalar': {
        const common = commons[shape.scalar];
        return common ? this.wrapped(common.name) : (scalarSchemas[shape.scalar] ?? {});
      }
      case 'struct':
        return this.wrapped(definitionName(shape.type));
      case 'map':
        return {
          type: 'object',
          additionalProperties: this.#inner(shape.of),
          ...(shape.atomic && { 'x-kubernetes-map-type': 'atomic' }),
        };
      case 'list':
        return { type: 'array', items: this.#inner(shape.of), ...listExtensions(shape) };
    }
  }

  /** Returns the schema of a list's items or a map's values, beside which nothing stands. */
  #inner(shape: Shape): JsonObject {
    if (shape.is === 'struct') return this.ref(definitionName(shape.type));
    const common = shape.is === 'scalar' ? commons[shape.scalar] : undefined;
    return common ? this.ref(common.name) : this.#schema(shape);
  }
}

/** Returns the schema of a member: in JSON schemas as values of an API, free values may be of any type, elsewhere they are objects. */
function withAnyJson(type: string, shape: Shape, schema: JsonObject): JsonObject {
  if (type !== 'JSONSchemaProps') return schema;
  const isAny = (inner: Shape): boolean => inner.is === 'scalar' && inner.scalar === 'any';
  if (isAny(shape)) return {};
  return shape.is === 'list' && isAny(shape.of) ? { ...schema, items: {} } : schema;
}

function describing({ fields }: Descriptions, name: string): JsonObject {
  const description = fields.get(name);
  return description === undefined ? {} : { description };
}
