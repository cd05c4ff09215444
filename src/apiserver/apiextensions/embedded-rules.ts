import { goKind } from '../../apimachinery/serializer/json-scan.ts';
import { DecodeError, decodeType } from '../../apimachinery/serializer/codec.ts';
import { type Draft, isObject, type JsonObject, stringAt } from '../../apimachinery/json.ts';
import { pathSegment } from '../../apimachinery/path-segment.ts';
import { causeOf, fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { ownMember, setOwn } from '../../base/own.ts';
import { validateMetadata } from '../../kube/validation/metadata.ts';
import { dns1035Label } from '../../kube/validation/name-rules.ts';
import { sorted } from './sorted-value.ts';
import { isEmbedded, itemsOf, propertyOf, type Structural, valuesOf } from './structural.ts';
import { badValue } from './value-findings.ts';

/** Path of a member: in brackets where the schema does not declare it. */
function memberPath(path: string, key: string, isDeclared: boolean): string {
  if (!isDeclared) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

/**
 * Returns a value whose embedded resources have metadata as it is decoded for all objects. Follows apiextensions-apiserver
 * `CoerceWithOptions`.
 *
 * @throws {DecodeError}
 */
export function withEmbedded(value: unknown, schema: Structural | undefined, path = ''): unknown {
  if (!schema) return value;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    return items ? value.map((item: unknown, i) => withEmbedded(item, items, `${path}[${i}]`)) : value;
  }
  if (!isObject(value)) return value;
  const out: Draft = {};
  for (const [key, inner] of Object.entries(value)) {
    const declared = propertyOf(schema, key);
    const own = isEmbedded(schema) ? resourceMember(key, inner, memberPath(path, key, true)) : inner;
    setOwn(
      out,
      key,
      withEmbedded(own, declared ?? valuesOf(schema), memberPath(path, key, declared !== undefined)),
    );
  }
  return out;
}

/** Returns a member of a resource as it is decoded. @throws {DecodeError} */
function resourceMember(key: string, value: unknown, path: string): unknown {
  if ((key === 'apiVersion' || key === 'kind') && typeof value !== 'string')
    throw unfit(path, value, 'must be a string');
  if (key !== 'metadata') return value;
  try {
    return decodeMetadata(value).object;
  } catch (reason) {
    if (reason instanceof DecodeError) throw unfit(path, value, reason.message);
    throw reason;
  }
}

const unfit = (path: string, value: unknown, why: string): DecodeError =>
  new DecodeError(`${path}: ${badValue(value, why).message}`);

/** Decodes the metadata of an object. @throws {DecodeError} */
export function decodeMetadata(value: unknown): ReturnType<typeof decodeType> {
  if (value !== null && value !== undefined && !isObject(value))
    throw new DecodeError(`json: cannot unmarshal ${goKind(value)} into Go value of type v1.ObjectMeta`);
  return decodeType(value ?? {}, 'ObjectMeta');
}

/** Returns what is wrong with embedded resources: they need a kind, a version, and metadata as all objects have it. */
export function embeddedFaults(value: unknown, schema: Structural | undefined, path = ''): FieldFault[] {
  if (!schema) return [];
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    return value.flatMap((item: unknown, i) => embeddedFaults(item, items, `${path}[${i}]`));
  }
  if (!isObject(value)) return [];
  return [
    ...(isEmbedded(schema) ? resourceFaults(value, path) : []),
    ...Object.entries(value).flatMap(([key, inner]) => {
      const declared = propertyOf(schema, key);
      return embeddedFaults(
        inner,
        declared ?? valuesOf(schema),
        memberPath(path, key, declared !== undefined),
      );
    }),
  ];
}

/** Follows apiextensions-apiserver `validateEmbeddedResource` (v1.36). */
function resourceFaults(value: JsonObject, path: string): readonly FieldFault[] {
  const at = (key: string): string => memberPath(path, key, true);
  const { metadata } = value;
  return [
    ...textFaults(value, 'apiVersion', at('apiVersion'), (text) =>
      text.split('/').length > 2 ? [`unexpected GroupVersion string: ${text}`] : [],
    ),
    ...textFaults(value, 'kind', at('kind'), (text) => {
      const wrong = dns1035Label(text.toLowerCase());
      return wrong.length > 0 ? [`may have mixed case, but should otherwise match: ${wrong.join(',')}`] : [];
    }),
    ...(isObject(metadata) ? metadataFaults(metadata, at('metadata')) : []),
  ];
}

function textFaults(
  value: JsonObject,
  key: string,
  path: string,
  rule: (text: string) => readonly string[],
): readonly FieldFault[] {
  if (!Object.hasOwn(value, key)) return [fault.required(path)];
  const text = ownMember(value, key);
  if (typeof text !== 'string') return [fault.invalid(path, sorted(text), 'must be a string')];
  const wrong = text === '' ? ['must not be empty'] : rule(text);
  return wrong.map((why) => fault.invalid(path, text, why));
}

function metadataFaults(metadata: JsonObject, path: string): readonly FieldFault[] {
  const named = stringAt(metadata, 'name') === '' ? { ...metadata, name: 'fakename' } : metadata;
  const rules = {
    names: pathSegment,
    namespaced: stringAt(metadata, 'namespace') !== '',
    knownFinalizers: false,
  };
  return [...validateMetadata(path, named, rules)].map(causeOf);
}
