import type { CustomType, Kind, Subresource } from '../../apimachinery/kinds.ts';
import { storageHashOf } from '../../apimachinery/kinds.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
} from '../../apimachinery/json.ts';
import type { Decoded } from '../../apimachinery/serializer/codec.ts';
import type { StoredVersions } from './conversions.ts';
import { isEstablished } from './definition-names.ts';
import { decodeMetadata, withEmbedded } from './embedded-rules.ts';
import { pruned, shapeOfSchema, type Structural } from './structural.ts';

const allVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const partVerbs = ['get', 'patch', 'update'];

/** A kind that a definition declares, with what is special about it. */
export interface CustomKind {
  readonly kind: Kind;
  readonly schema: Structural;
  /** Schema of the version that objects are stored in; absent for that version itself. */
  readonly storageSchema?: Structural;
  readonly versions: StoredVersions;
  /** `spec.conversion.webhook`, which converts between versions; absent: they differ in their name only. */
  readonly webhook?: JsonObject;
  /** Where the numbers of a scale stand; absent: it has none. */
  readonly scale?: ScalePaths;
  readonly columns: readonly JsonObject[];
}

export interface ScalePaths {
  readonly spec: readonly string[];
  readonly status: readonly string[];
  readonly selector?: readonly string[];
}

const pathOf = (text: string): readonly string[] => text.replace(/^\./, '').split('.');

/** Versions as Kubernetes sorts them: `v2`, `v1`, `v1beta1`, `v1alpha1`, then all others by name. */
export function byPriority(a: string, b: string): number {
  const [one, other] = [partsOf(a), partsOf(b)];
  if (!one || !other) return one ? -1 : other ? 1 : a < b ? -1 : 1;
  return other.stage - one.stage || other.major - one.major || other.minor - one.minor;
}

function partsOf(
  version: string,
): { readonly major: number; readonly stage: number; readonly minor: number } | undefined {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version);
  if (!match) return undefined;
  const [, major, stage, minor] = match;
  return {
    major: Number(major),
    stage: stage === undefined ? 2 : stage === 'beta' ? 1 : 0,
    minor: Number(minor ?? 0),
  };
}

/** The kinds that a definition serves, in the order of discovery; none before it is established. */
export function customKindsOf(definition: JsonObject): readonly CustomKind[] {
  if (!isEstablished(definition)) return [];
  const spec = objectAt(definition, 'spec');
  const versions = objectsAt(spec, 'versions');
  const storage = versions.find((version) => version['storage'] === true) ?? {};
  return versions
    .filter((version) => version['served'] === true)
    .sort((a, b) => byPriority(stringAt(a, 'name'), stringAt(b, 'name')))
    .map((version) => customKind(definition, version, storage));
}

const schemaOf = (version: JsonObject): Structural => {
  const schema = valueAt(version, 'schema', 'openAPIV3Schema');
  return isObject(schema) ? schema : { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
};

function customKind(definition: JsonObject, version: JsonObject, storage: JsonObject): CustomKind {
  const spec = objectAt(definition, 'spec');
  const names = objectAt(objectAt(definition, 'status'), 'acceptedNames');
  const [group, plural] = [stringAt(spec, 'group'), stringAt(names, 'plural')];
  const schema = schemaOf(version);
  const scale = valueAt(version, 'subresources', 'scale');
  const kind: Kind = {
    group,
    version: stringAt(version, 'name'),
    kind: stringAt(names, 'kind'),
    listKind: stringAt(names, 'listKind'),
    resource: plural,
    singular: stringAt(names, 'singular'),
    namespaced: spec['scope'] === 'Namespaced',
    shortNames: listAt(names, 'shortNames') as readonly string[],
    categories: listAt(names, 'categories') as readonly string[],
    verbs: allVerbs,
    subresources: subresourcesOf(version, stringAt(names, 'kind')),
    type: '',
    storage: `${group}/${plural}`,
    storageHash: storageHashOf(group, stringAt(storage, 'name'), stringAt(names, 'kind')),
    custom: customType(schema, version),
  };
  const isStored = version === storage;
  const conversion = objectAt(spec, 'conversion');
  return {
    kind: warned(kind, version),
    schema,
    ...(!isStored && { storageSchema: schemaOf(storage) }),
    versions: storedVersionsOf(definition, stringAt(storage, 'name')),
    ...(stringAt(conversion, 'strategy') === 'Webhook' && { webhook: objectAt(conversion, 'webhook') }),
    ...(isObject(scale) && { scale: scalePaths(scale) }),
    columns: objectsAt(version, 'additionalPrinterColumns'),
  };
}

function storedVersionsOf(definition: JsonObject, current: string): StoredVersions {
  const spec = objectAt(definition, 'spec');
  const [first = current] = listAt(objectAt(definition, 'status'), 'storedVersions') as readonly string[];
  const of = (version: string): string => `${stringAt(spec, 'group')}/${version}`;
  return { current: of(current), first: of(first), isNamed: listAt(spec, 'versions').length > 1 };
}

/** The kind with what its clients are warned of. */
function warned(kind: Kind, version: JsonObject): Kind {
  if (version['deprecated'] !== true) return kind;
  const own = stringAt(version, 'deprecationWarning');
  return { ...kind, deprecation: own || `${kind.group}/${kind.version} ${kind.kind} is deprecated` };
}

function scalePaths(scale: JsonObject): ScalePaths {
  const selector = stringAt(scale, 'labelSelectorPath');
  return {
    spec: pathOf(stringAt(scale, 'specReplicasPath')),
    status: pathOf(stringAt(scale, 'statusReplicasPath')),
    ...(selector !== '' && { selector: pathOf(selector) }),
  };
}

function subresourcesOf(version: JsonObject, kind: string): readonly Subresource[] {
  const { status, scale } = objectAt(version, 'subresources');
  return [
    ...(isObject(status) ? [{ name: 'status', kind, verbs: partVerbs }] : []),
    ...(isObject(scale)
      ? [{ name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: partVerbs }]
      : []),
  ];
}

function customType(schema: Structural, version: JsonObject): CustomType {
  const selectable = objectsAt(version, 'selectableFields').map((one) => stringAt(one, 'jsonPath'));
  return {
    shape: shapeOfSchema(schema, true),
    decode: (value) => decodeCustom(value, schema),
    selectable: new Map(selectable.map((path) => [path.replace(/^\./, ''), pathOf(path)])),
  };
}

/** Reads an object by its schema: metadata as every object's, all else without what is not declared. @throws {DecodeError} */
function decodeCustom(value: JsonObject, schema: Structural): Decoded {
  const { metadata, strict, empties } = metadataOf(value);
  const unknown: string[] = [];
  const object = pruned(value, schema, unknown, { isResource: true, keepsMetadata: true });
  const whole = withEmbedded(object, schema) as JsonObject;
  return {
    object: { ...whole, metadata },
    strict: [...strict, ...unknown.sort().map((path) => `unknown field ${JSON.stringify(path)}`)],
    empties,
  };
}

function metadataOf({ metadata = {} }: JsonObject): {
  readonly metadata: JsonObject;
  readonly strict: readonly string[];
  readonly empties: Decoded['empties'];
} {
  const { object, strict, empties } = decodeMetadata(metadata);
  return {
    metadata: object,
    strict: strict.map((fault) => fault.replace('unknown field "', 'unknown field "metadata.')),
    empties: new Map([...empties].map(([path, empty]) => [`metadata.${path}`, empty])),
  };
}
