import { parse as parseYaml } from 'yaml';
import { decodeAs, expectedOf } from './body.ts';
import { DecodeError, decodeType } from './codec.ts';
import { jsonFault } from './json-scan.ts';
import { isObject, type JsonObject, metadataInOrder, objectAt, stringAt } from './json.ts';
import { groupVersionOf, type Kind } from './kinds.ts';
import { jsonPatch, mergePatch, strategicPatch } from './patch.ts';
import { badRequest, fault, invalid, StatusError, unsupportedMediaType } from './status-error.ts';

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const types: Readonly<Record<string, PatchType>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};

/** @throws {StatusError} 415 */
export function patchTypeOf(contentType: string | undefined): PatchType {
  const type = types[(contentType ?? '').split(';')[0]?.trim() ?? ''];
  if (!type)
    throw unsupportedMediaType(
      [...Object.keys(types), 'application/apply-patch+cbor'].filter((one) => !one.endsWith('cbor')),
    );
  return type;
}

/** A patch as it was read, with what strict decoding holds against it. */
export interface PatchBody {
  readonly type: PatchType;
  readonly value: unknown;
  readonly text: string;
}

const decoding = (why: string): StatusError => badRequest(`error decoding patch: ${why}`);

/** @throws {StatusError} 400 */
export function readPatch(body: Buffer, type: PatchType): PatchBody {
  const text = body.toString();
  if (type === 'apply') return { type, value: readApply(text), text };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw decoding(jsonFault(text));
  }
  if (type === 'json' && !Array.isArray(value))
    throw decoding(`json: cannot unmarshal ${goKind(value)} into Go value of type []handlers.jsonPatchOp`);
  if (type === 'merge' && value === null) throw badRequest('Invalid JSON Patch');
  if (type !== 'json' && !isObject(value))
    throw decoding(`json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`);
  return { type, value, text };
}

const goKind = (value: unknown): string =>
  Array.isArray(value) ? 'array' : value === null ? 'null' : isObject(value) ? 'object' : typeof value;

function readApply(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseYaml(text);
  } catch (reason) {
    throw badRequest(
      `error decoding YAML: yaml: ${reason instanceof Error ? (reason.message.split('\n')[0] ?? '') : ''}`,
    );
  }
  if (!isObject(value)) throw badRequest('invalid object type: /, Kind=');
  return value;
}

/** The object that a patch makes of the standing one, in normal form. `strict` collects what strict decoding finds. @throws {StatusError} 400, 422 */
export function patched(standing: JsonObject, patch: PatchBody, kind: Kind, strict: string[]): JsonObject {
  const whole: JsonObject = { apiVersion: groupVersionOf(kind), kind: kind.kind, ...standing };
  const result = apply(whole, patch, kind);
  const given: JsonObject = isObject(result) ? result : {};
  const refuse = (why: string): StatusError =>
    invalid('', undefined, '', [fault.invalid('patch', JSON.stringify(asWritten(given, patch)), why)]);
  if (given['kind'] !== kind.kind || given['apiVersion'] !== groupVersionOf(kind))
    return wrongKind(given, kind, refuse);
  try {
    const decoded = decodeType(given, kind.type);
    strict.push(...decoded.strict);
    const { apiVersion: _a, kind: _k, ...rest } = decoded.object;
    return rest;
  } catch (reason) {
    if (reason instanceof DecodeError) throw refuse(reason.message);
    throw reason;
  }
}

/** A patched document as Go shows it: what the patch went through is sorted, the rest stands as it did. */
function asWritten(given: JsonObject, patch: PatchBody): JsonObject {
  const metadata = given['metadata'] !== undefined && {
    metadata: metadataInOrder(objectAt(given, 'metadata')),
  };
  return sortedAlong({ ...given, ...metadata }, touchedBy(patch)) as JsonObject;
}

/** The places that a patch names, as a tree. */
function touchedBy({ type, value }: PatchBody): JsonObject {
  if (type !== 'json') return value as JsonObject;
  const tree: Record<string, Record<string, unknown>> = {};
  for (const step of value as readonly unknown[]) {
    const path = isObject(step) ? stringAt(step, 'path') : '';
    let at: Record<string, unknown> = tree;
    for (const key of path.split('/').slice(1, -1)) at = (at[key] ??= {}) as Record<string, unknown>;
  }
  return tree;
}

function sortedAlong(value: unknown, touched: unknown): unknown {
  if (!isObject(value) || !isObject(touched)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sortedAlong(value[key], touched[key])]));
}

function wrongKind(given: JsonObject, kind: Kind, refuse: (why: string) => StatusError): never {
  try {
    decodeAs(given, expectedOf(kind), []);
  } catch (reason) {
    if (reason instanceof StatusError) {
      const why = reason.message.replace(/^.* cannot be handled as a \w+: /, '');
      throw refuse(why);
    }
  }
  throw refuse('the kind does not match');
}

function apply(standing: JsonObject, patch: PatchBody, kind: Kind): unknown {
  switch (patch.type) {
    case 'json':
      return jsonPatch(standing, patch.value as readonly unknown[]);
    case 'strategic':
      return strategicPatch(standing, patch.value as JsonObject, kind.type);
    case 'merge':
    case 'apply':
      return mergePatch(standing, patch.value);
  }
}

/** The object of an apply patch, checked: no field that the schema does not have. @throws {StatusError} 400, 500 */
export function applyConfig(patch: PatchBody, kind: Kind, name: string): JsonObject {
  const value = patch.value as JsonObject;
  if (value['apiVersion'] !== groupVersionOf(kind) || value['kind'] !== kind.kind)
    throw badRequest(`invalid object type: ${kindText(value)}`);
  const metadata = objectAt(value, 'metadata');
  if (metadata['managedFields'] !== undefined && metadata['managedFields'] !== null)
    throw badRequest('metadata.managedFields must be nil');
  const { object, strict } = decode(value, kind);
  const unknown = strict.find((text) => text.startsWith('unknown field'));
  if (unknown) {
    const path = /"(.*)"/.exec(unknown)?.[1] ?? '';
    throw new StatusError(
      500,
      '',
      `failed to create typed patch object (${stringAt(metadata, 'namespace')}/${name}; ${kind.group}/${kind.version}, Kind=${kind.kind}): .${path}: field not declared in schema`,
    );
  }
  const { apiVersion: _a, kind: _k, ...rest } = object;
  return rest;
}

/** A group, version and kind as Go prints them: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`. */
function kindText(value: JsonObject): string {
  const apiVersion = stringAt(value, 'apiVersion');
  return `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${stringAt(value, 'kind')}`;
}

function decode(
  value: JsonObject,
  kind: Kind,
): { readonly object: JsonObject; readonly strict: readonly string[] } {
  try {
    const { strict } = decodeType(value, kind.type);
    return { object: value, strict };
  } catch (reason) {
    if (reason instanceof DecodeError)
      throw new StatusError(500, '', `failed to create typed patch object: ${reason.message}`);
    throw reason;
  }
}
