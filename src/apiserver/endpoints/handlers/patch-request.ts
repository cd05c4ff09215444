import { ownMember, setOwn, tableOf } from '../../../base/own.ts';
import { parseYaml } from '../../../go/yaml/document.ts';
import { yamlText } from '../../../go/yaml/reader.ts';
import { decodeAs, duplicateKeys, expectedOf } from '../body.ts';
import { withWarnings } from '../exchange.ts';
import { metadataFaults, refusalOfOther, undeclaredIn } from '../other-kind.ts';
import { goJson, goStructJson } from '../../../go/go-json.ts';
import {
  type Decoded,
  DecodeError,
  decodeType,
  type Empties,
  type Literals,
} from '../../../apimachinery/serializer/codec.ts';
import { inGoOrder } from '../../registry/go-structs.ts';
import { goValue } from '../../../apimachinery/go-value.ts';
import { parseJson } from '../../../go/json-fault.ts';
import {
  duplicateFields,
  goKind,
  jsonFault,
  numberLiterals,
} from '../../../apimachinery/serializer/json-scan.ts';
import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../../apimachinery/json.ts';
import { decodeKind, groupVersionOf, type Kind, shapeOf } from '../../../apimachinery/kinds.ts';
import { jsonPatch, mergePatch } from '../../../apimachinery/patch/patch.ts';
import {
  badRequest,
  internalError,
  fault,
  invalid,
  StatusError,
  unsupportedBody,
  unsupportedMediaType,
} from '../../../apimachinery/status-error.ts';
import { strategicPatch } from '../../../apimachinery/patch/strategic-patch.ts';
import { typedFaults } from '../../../apimachinery/managed-fields/typed-value.ts';
import { conversionOf, squeezed } from '../../../apimachinery/unstructured.ts';

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const types: Readonly<Record<string, PatchType>> = tableOf({
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
});

/** Returns the type of a patch. A list of content types is routed here but then rejected. @throws {StatusError} 415 */
export function patchTypeOf(contentType = '', { custom }: Pick<Kind, 'custom'> = {}): PatchType {
  const named = contentType.split(',').map((part) => (part.split(';')[0] ?? '').trim());
  if (!named.some((one) => Object.hasOwn(types, one))) throw unsupportedBody();
  const type = types[/^.+?(?=;)|^.*/.exec(contentType)?.[0] ?? ''];
  if (!type || (custom && type === 'strategic'))
    throw unsupportedMediaType(
      Object.keys(types).filter((one) => !custom || ownMember(types, one) !== 'strategic'),
    );
  return type;
}

/** Returns the value of a patch for the audit log; `undefined` if it cannot be parsed. */
export function patchValue(body: Buffer, type: PatchType): unknown {
  if (type === 'apply') {
    const parsed = parseYaml(yamlText(body));
    return parsed.ok ? parsed.document.value : undefined;
  }
  try {
    return parseJson(body.toString());
  } catch {
    return undefined;
  }
}

/** A parsed patch. */
export interface PatchBody {
  readonly type: Exclude<PatchType, 'apply'>;
  readonly value: unknown;
  /** Faults of strict decoding of the patch itself. */
  readonly strict: readonly string[];
  /** Numbers as written, by path. */
  readonly literals: Literals;
}

/** Start of the message for an unparsable patch, and the Go type it is parsed into. */
const readers: Readonly<Record<Exclude<PatchType, 'apply'>, readonly [head: string, into: string]>> = {
  json: ['error decoding patch: ', '[]handlers.jsonPatchOp'],
  merge: ['error decoding patch: ', 'map[string]interface {}'],
  strategic: ['', 'map[string]interface {}'],
};

/** @throws {StatusError} 400 */
export function readPatch(
  body: Buffer,
  type: Exclude<PatchType, 'apply'>,
  validation: FieldValidation = 'Warn',
): PatchBody {
  const text = body.toString();
  // a JSON patch is decoded by its own type only with field validation
  const loose = type === 'json' && validation === 'Ignore';
  const [head, into] = loose ? ['', 'jsonpatch.Patch'] : readers[type];
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw badRequest(head + jsonFault(text));
  }
  if (type === 'merge' && value === null) throw badRequest('Invalid JSON Patch');
  if (value === null) value = type === 'json' ? [] : {};
  const why = (type === 'json' ? Array.isArray(value) : isObject(value))
    ? stepFault(type, value, loose)
    : `${goKind(value)} into Go value of type ${into}`;
  if (why !== undefined) throw badRequest(`${head}json: cannot unmarshal ${why}`);
  return { type, value, strict: strictFaults(type, value, text), literals: numberLiterals(text) };
}

/** Returns the type fault of a JSON patch's step. */
function stepFault(type: PatchType, value: unknown, loose: boolean): string | undefined {
  if (type !== 'json') return undefined;
  for (const step of value as readonly unknown[]) {
    if (step === null) continue;
    if (!isObject(step))
      return `${goKind(step)} into Go value of type ${loose ? 'jsonpatch.Operation' : 'handlers.jsonPatchOp'}`;
    const wrong = Object.entries(step).find(
      ([key, found]) => texts.has(key) && found !== null && typeof found !== 'string',
    );
    if (wrong && !loose)
      return `${goKind(wrong[1])} into Go struct field jsonPatchOp.${wrong[0]} of type string`;
  }
  return undefined;
}

const texts = new Set(['op', 'path', 'from']);
const members = new Set(['op', 'path', 'from', 'value']);

/** Returns duplicate keys and unknown members of a JSON patch. */
function strictFaults(type: PatchType, value: unknown, text: string): readonly string[] {
  const twice = duplicateFields(text, value);
  if (type !== 'json') return twice;
  const strange = (value as readonly unknown[]).flatMap((step, i) =>
    isObject(step)
      ? Object.keys(step)
          .filter((key) => !members.has(key))
          .map((key) => `unknown field "[${i}].${key}"`)
      : [],
  );
  return [...twice, ...strange].map((fault) => `json patch ${fault}`);
}

/** A parsed apply patch. */
export interface Applied {
  readonly value: JsonObject;
  /** Duplicate keys. */
  readonly duplicates: readonly string[];
}

const undecodable = (why: string): StatusError => badRequest(`error decoding YAML: ${why}`);

/** Parses an apply patch. @throws {StatusError} 400 */
export function readApply(body: Buffer): Applied {
  const parsed = parseYaml(yamlText(body));
  if (!parsed.ok) throw undecodable(`error converting YAML to JSON: ${parsed.fault.message}`);
  const { value = {}, duplicates } = parsed.document;
  if (!isObject(value ?? {}))
    throw undecodable(
      `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`,
    );
  return { value: (value ?? {}) as JsonObject, duplicates: duplicateKeys(duplicates) };
}

/** Returns the warnings of an apply patch, or rejects it with strict validation. @throws {StatusError} 400 */
export function judgedApply({ duplicates }: Applied, validation: FieldValidation): readonly string[] {
  if (validation === 'Strict' && duplicates.length > 0)
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n${duplicates.map((one) => `  ${one}`).join('\n')}`,
    );
  return validation === 'Warn' ? duplicates : [];
}

/** How strictly fields are validated. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** The patched object in normalized form. */
export interface Patched {
  readonly object: JsonObject;
  /** Whether the object names another kind, as that of a status may. */
  readonly isOtherKind: boolean;
  readonly warnings: readonly string[];
  readonly empties: Empties;
}

/** What a patch is applied for. */
export interface PatchContext {
  readonly fieldValidation: FieldValidation;
  /** Default: the main resource. */
  readonly subresource?: string;
}

/** Applies a patch to the stored object. @throws {StatusError} 400, 422, 500 */
export function patched(
  standing: JsonObject,
  patch: PatchBody,
  kind: Kind,
  { fieldValidation: validation, subresource = '' }: PatchContext,
): Patched {
  const {
    object,
    strict,
    empties,
    shown,
    refusal,
    isOtherKind = false,
  } = patch.type === 'strategic'
    ? strategically(standing, patch, kind)
    : byJson(standing, patch, kind, subresource === 'status');
  const found = validation === 'Ignore' ? [] : [...patch.strict, ...strict];
  if (validation === 'Strict' && found.length > 0)
    throw refused(shown(), `strict decoding error: ${found.join(', ')}`);
  if (refusal) throw withWarnings(refusal, found);
  const { apiVersion: _a, kind: _k, ...rest } = object;
  return { object: rest, warnings: found, empties, isOtherKind };
}

interface Outcome extends Decoded {
  /** Why an object of another kind is not taken. */
  readonly refusal?: StatusError;
  readonly isOtherKind?: boolean;
  /** Returns the object as shown in error messages. */
  readonly shown: () => string;
}

const refused = (shown: string, why: string): StatusError =>
  invalid('', undefined, '', [fault.invalid('patch', shown, why)]);

const named = (standing: JsonObject, kind: Kind): JsonObject => ({
  apiVersion: groupVersionOf(kind),
  kind: kind.kind,
  ...standing,
});

function strategically(standing: JsonObject, { value }: PatchBody, kind: Kind): Outcome {
  const patch = value as JsonObject;
  const result = strategicPatch(named(standing, kind), patch, kind.type);
  const { fault: why, unknown } = conversionOf(result, kind.type);
  const shown = (): string => goValue(patch);
  if (why !== undefined) throw refused(shown(), why);
  return { ...decodeType(squeezed(result, kind.type), kind.type), strict: unknown, shown };
}

function byJson(standing: JsonObject, patch: PatchBody, kind: Kind, ofStatus: boolean): Outcome {
  const whole = named(standing, kind);
  const result =
    patch.type === 'json'
      ? jsonPatch(whole, patch.value as readonly unknown[])
      : mergePatch(whole, patch.value);
  if (kind.custom) return customOutcome(isObject(result) ? result : {}, kind, ofStatus);
  const written: JsonObject = isObject(result) ? asWritten(result, patch, kind) : {};
  const shown = (): string => goStructJson(written);
  const expected = { kind: kind.kind, apiVersion: groupVersionOf(kind) };
  const differs = (key: 'kind' | 'apiVersion'): boolean =>
    ![undefined, '', expected[key]].includes(written[key] as string);
  if (differs('kind') || differs('apiVersion'))
    return wrongKind(written, kind, (why) => refused(shown(), why));
  return decodedBy(() => decodeKind(kind, written, literalsOf(patch)), shown);
}

function decodedBy(decode: () => Decoded, shown: () => string): Outcome {
  try {
    return { ...decode(), shown };
  } catch (reason) {
    if (reason instanceof DecodeError) throw refused(shown(), reason.message);
    throw reason;
  }
}

/** Decodes a patched custom resource. @throws {StatusError} 422 */
function customOutcome(result: JsonObject, kind: Kind, ofStatus: boolean): Outcome {
  const shown = (): string => goJson(result);
  for (const key of ['apiVersion', 'kind'] as const) {
    const value = result[key] ?? '';
    if (typeof value !== 'string')
      throw refused(
        shown(),
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKind(value)} into Go struct field .${key} of type string`,
      );
  }
  if (stringAt(result, 'kind') === '') throw refused(shown(), `Object 'Kind' is missing in '${shown()}'`);
  const outcome = decodedBy(() => decodeKind(kind, result), shown);
  if (stringAt(result, 'apiVersion') === '')
    throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  const refusal = refusalOfOther(result, kind);
  if (!refusal) return outcome;
  const undeclared = undeclaredIn(result, { kind: kind.kind, apiVersion: groupVersionOf(kind) });
  const strict = [...metadataFaults(outcome.strict), ...undeclared];
  // a write of the status takes the kind from the object that stands
  if (!ofStatus) return { ...outcome, strict, refusal };
  const object = undeclared.length > 0 ? { metadata: objectAt(outcome.object, 'metadata') } : outcome.object;
  return { ...outcome, object, strict, isOtherKind: true };
}

/** Returns the numbers of a patch by their paths in the result. */
function literalsOf({ type, value, literals }: PatchBody): Literals {
  if (type !== 'json' || literals.size === 0) return literals;
  const steps = value as readonly unknown[];
  return new Map(
    [...literals].map(([path, literal]) => {
      const [, i = '', below = ''] = /^\[(\d+)\]\.value(.*)$/.exec(path) ?? [];
      const step = steps[Number(i)];
      const at = (isObject(step) ? stringAt(step, 'path') : '').split('/').slice(1);
      const place = at.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`)).join('');
      return [place.slice(1) + below, literal] as const;
    }),
  );
}

/** Returns a patched document as Go prints it: patched parts are sorted, the rest has the order of its structs. */
function asWritten(document: JsonObject, patch: PatchBody, kind: Kind): JsonObject {
  const shape = { is: 'struct', type: kind.type, atomic: false } as const;
  return sortedAlong(inGoOrder(document, shape), touchedBy(patch)) as JsonObject;
}

/** Returns the paths of a patch as a tree. */
function touchedBy({ type, value }: PatchBody): JsonObject {
  if (type !== 'json') return value as JsonObject;
  const tree: Record<string, unknown> = {};
  const steps = (value as readonly unknown[]).filter(isObject);
  for (const path of steps.flatMap((step) => [stringAt(step, 'path'), stringAt(step, 'from')])) {
    let at = tree;
    for (const key of path.split('/').slice(1, -1)) at = below(at, key);
  }
  return tree;
}

/** Returns the object under a key, created if missing. */
function below(tree: Record<string, unknown>, key: string): Record<string, unknown> {
  const standing = ownMember(tree, key);
  if (standing !== undefined) return standing as Record<string, unknown>;
  const created = {};
  setOwn(tree, key, created);
  return created;
}

function sortedAlong(value: unknown, touched: unknown): unknown {
  if (Array.isArray(value)) {
    if (Array.isArray(touched)) return value.map((item: unknown, i) => sortedAlong(item, touched[i]));
    return isObject(touched)
      ? value.map((item: unknown, i) => sortedAlong(item, ownMember(touched, String(i))))
      : value;
  }
  if (!isObject(value) || !isObject(touched)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(
    keys.map((key) => [key, sortedAlong(ownMember(value, key), ownMember(touched, key))]),
  );
}

function wrongKind(document: JsonObject, kind: Kind, refuse: (why: string) => StatusError): never {
  try {
    decodeAs(document, expectedOf(kind), []);
  } catch (reason) {
    if (reason instanceof StatusError) {
      const why = reason.message.replace(/^.* cannot be handled as a \w+: /, '');
      throw refuse(why);
    }
  }
  throw refuse('the kind does not match');
}

/** An apply configuration that has the types of the schema. */
export interface ApplyConfig {
  /** The configuration without its kind and version. */
  readonly object: JsonObject;
  /** Calls `act`, which decodes the configuration or what it is merged into. @throws {StatusError} 500 if it cannot be decoded */
  readonly converted: <T>(act: () => T) => T;
}

/** Validates the object of an apply patch against the schema. @throws {StatusError} 400, 500 */
export function applyConfig(value: JsonObject, kind: Kind): ApplyConfig {
  if (value['apiVersion'] !== groupVersionOf(kind) || value['kind'] !== kind.kind)
    throw badRequest(`invalid object type: ${kindText(value)}`);
  const metadata = objectAt(value, 'metadata');
  if (listAt(metadata, 'managedFields').length > 0) throw badRequest('metadata.managedFields must be nil');
  const version = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
  const shown = `(${stringAt(metadata, 'namespace')}/${stringAt(metadata, 'name')}; ${version})`;
  const wrong = typedFaults(value, kind.custom ? shapeOf(kind) : kind.type);
  if (wrong !== undefined)
    throw new StatusError(500, '', `failed to create typed patch object ${shown}: ${wrong}`);
  const { apiVersion: _a, kind: _k, ...object } = value;
  return {
    object,
    converted: (act) => {
      try {
        return act();
      } catch (reason) {
        if (!(reason instanceof DecodeError)) throw reason;
        const what = `failed to convert new object ${shown} to proper version`;
        const why = `unable to convert unstructured object to ${version}: ${reason.message}`;
        throw new StatusError(500, '', `${what}: ${why}`);
      }
    },
  };
}

/** Formats group, version and kind as Go does: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`. */
function kindText(value: JsonObject): string {
  const apiVersion = stringAt(value, 'apiVersion');
  return `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${stringAt(value, 'kind')}`;
}
