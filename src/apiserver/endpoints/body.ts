import { ownMember } from '../../base/own.ts';
import type { IncomingMessage } from 'node:http';
import { auditOf } from '../request/audit-record.ts';
import { parseYaml, type TextDocument } from '../../go/yaml/document.ts';
import { yamlText } from '../../go/yaml/reader.ts';
import { DecodeError, decodeType, type Empties, type Literals } from '../../apimachinery/serializer/codec.ts';
import { parseJson as parseJsonText } from '../../go/json-fault.ts';
import {
  duplicateFields,
  goKind,
  jsonFault,
  numberLiterals,
} from '../../apimachinery/serializer/json-scan.ts';
import { isObject, type JsonObject, stringAt } from '../../apimachinery/json.ts';
import {
  type CustomType,
  decodeKind,
  findByKind,
  groupVersionOf,
  internalName,
} from '../../apimachinery/kinds.ts';
import { mediaTypeOf } from './negotiate.ts';
import { formats, mediaTypes, type Representation } from './negotiate.ts';
import { orRefusal, refuseOtherThanCustom } from './other-kind.ts';
import { ProtobufError, readProtobuf } from '../../apimachinery/serializer/protobuf-body.ts';
import { badRequest, StatusError, unsupportedMediaType } from '../../apimachinery/status-error.ts';
import type { FieldValidation } from './write-options.ts';

/** Maximum size of a body, bytes. */
export const bodyMost: number = 3 * 1024 * 1024;

const tooLarge = (): StatusError =>
  new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${bodyMost}`, {
    headers: { Connection: 'close' },
  });

/** Reads a complete body. @throws {StatusError} 413 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > bodyMost) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  const isWhole = await new Promise<boolean>((resolve, reject) => {
    if (request.destroyed) reject(interrupted());
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > bodyMost) resolve(false);
      else chunks.push(chunk);
    });
    request.once('end', () => {
      resolve(true);
    });
    request.once('error', reject);
    request.once('close', () => {
      if (!request.readableEnded) reject(interrupted());
    });
  });
  if (!isWhole) throw tooLarge();
  return chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
}

const interrupted = (): Error => new Error('the connection ended before the body did');

/** Returns the format of a body: JSON by default. @throws {StatusError} 415 */
export function bodyFormat(request: IncomingMessage, custom = false): Representation['format'] {
  const header = request.headers['content-type'] ?? '';
  const format = formats[mediaTypeOf(header === '' ? 'application/json' : header) ?? ''];
  if (!format || (custom && format === 'protobuf'))
    throw unsupportedMediaType(custom ? mediaTypes.filter((type) => !type.includes('protobuf')) : mediaTypes);
  return format;
}

/** The expected content of a body. */
export interface Expected {
  readonly apiVersion: string;
  readonly kind: string;
  /** Name of the type in the table. */
  readonly type: string;
  /** Go's name of the internal type: `core.Pod`. */
  readonly internal: string;
  /** Type of a custom resource; absent for built-in kinds. */
  readonly custom?: CustomType;
  /** Reports whether an apiVersion is accepted; absent: only the expected one. */
  readonly fits?: (apiVersion: string) => boolean;
  /** Whether faults are reported without context, as kube-apiserver does for the options of a DELETE. */
  readonly bare?: boolean;
  /** Whether fields are not validated. Default: false. */
  readonly isLoose?: boolean;
}

export interface ReadObject {
  /** Without apiVersion and kind. */
  readonly object: JsonObject;
  /** Faults of strict decoding. */
  readonly strict: readonly string[];
  readonly empties: Empties;
}

const unrecognized = ({ kind, bare }: Expected, why: string, body: Buffer): StatusError =>
  bare
    ? badRequest(why)
    : badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${shown(body)})`);

/** Bytes of a body that are quoted in a message. */
const shownMost = 30;

function shown(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const format = body[0] === '{'.charCodeAt(0) ? 'utf8' : 'hex';
  return body.length > shownMost
    ? `${body.subarray(0, shownMost).toString(format)} ...`
    : body.toString(format);
}

const goStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

function parseJson(body: Buffer, text: string, expected: Expected): unknown {
  try {
    return parseJsonText(text);
  } catch {
    throw unrecognized(expected, `couldn't get version/kind; json parse error: ${jsonFault(text)}`, body);
  }
}

function parseProtobuf(body: Buffer, expected: Expected): JsonObject {
  try {
    return readProtobuf(body, (apiVersion, kind) =>
      kind === expected.kind ? expected.type : findByKind(apiVersion, kind)?.type,
    );
  } catch (reason) {
    if (reason instanceof ProtobufError) throw unrecognized(expected, reason.message, body);
    throw reason;
  }
}

/** A parsed body. */
interface Parsed {
  readonly value: unknown;
  /** Duplicate keys, as strict decoding names them. */
  readonly duplicates: readonly string[];
  /** Numbers as written, by path. */
  readonly literals?: Literals;
}

function parse(body: Buffer, format: Representation['format'], expected: Expected): Parsed {
  if (format === 'protobuf') return { value: parseProtobuf(body, expected), duplicates: [] };
  const text = format === 'yaml' ? yamlText(body) : body.toString();
  if (format === 'json') {
    const value = parseJson(body, text, expected);
    if (!isObject(value)) return { value, duplicates: [] };
    return { value, duplicates: duplicateFields(text, value), literals: numberLiterals(text) };
  }
  const parsed = parseYaml(text);
  if (!parsed.ok) throw unrecognized(expected, parsed.fault.message, body);
  return { value: parsed.document.value, duplicates: duplicateKeys(parsed.document.duplicates) };
}

/** Decodes an object of the expected kind in a body. @throws {StatusError} 400 */
export function readObject(body: Buffer, format: Representation['format'], expected: Expected): ReadObject {
  const { value: parsed, duplicates, literals } = parse(body, format, expected);
  const isVoid = parsed === null || parsed === undefined;
  if (isVoid && !expected.custom) return decodeAs({}, expected, []);
  const value = isVoid ? {} : parsed;
  if (!isObject(value))
    throw unrecognized(
      expected,
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKind(value)} into Go value of type ${goStruct}`,
      body,
    );
  const declared = typeMetaOf(value, (key, found) =>
    unrecognized(
      expected,
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKind(found)} into Go struct field .${key} of type string`,
      body,
    ),
  );
  if (declared.apiVersion.split('/').length > 2)
    throw unrecognized(expected, `unexpected GroupVersion string: ${declared.apiVersion}`, body);
  if (expected.custom) {
    const missing = stringAt(value, 'kind') === '';
    const text = format === 'json' ? body.toString() : JSON.stringify(value);
    if (missing) throw missingKind({ ...expected, apiVersion: declared.apiVersion }, text, body);
  }
  return decodeAs(value, { ...expected, declared }, duplicates, literals);
}

/** Returns the refusal of a custom resource that does not name its kind: without field validation it is found while the object is decoded. */
function missingKind(expected: Expected, text: string, body: Buffer): StatusError {
  const why = `Object 'Kind' is missing in '${text}'`;
  if (!expected.isLoose) return unrecognized(expected, why, body);
  const version = JSON.stringify(shortVersion(expected.apiVersion));
  return badRequest(`${expected.kind} in version ${version} cannot be handled as a ${expected.kind}: ${why}`);
}

/** A decoded object and the warnings for its client. */
export type WrittenObject = Omit<ReadObject, 'strict'> & { readonly warnings: readonly string[] };

/** Reads and decodes the body of a write. @throws {StatusError} 400, 413, 415 */
export async function readWritten(
  request: IncomingMessage,
  expected: Expected,
  { fieldValidation }: { readonly fieldValidation: FieldValidation },
): Promise<WrittenObject> {
  const format = bodyFormat(request, expected.custom !== undefined);
  const isLoose = fieldValidation === 'Ignore';
  const body = await readBody(request);
  const { object, strict, empties } = orRefusal(
    () => readObject(body, format, { ...expected, isLoose }),
    (found, apiVersion) => judged(found, fieldValidation, { ...expected, apiVersion }),
  );
  auditOf(request)?.about(object, expected);
  return { object, empties, warnings: judged(strict, fieldValidation, expected) };
}

/** Returns apiVersion and kind of an object: Go matches the keys case-insensitively, and the last one counts. */
function typeMetaOf(
  value: JsonObject,
  fault: (key: string, found: unknown) => StatusError,
): { readonly apiVersion: string; readonly kind: string } {
  const declared = { apiVersion: '', kind: '' };
  for (const [name, found] of Object.entries(value)) {
    const key = (['apiVersion', 'kind'] as const).find((one) => one.toLowerCase() === name.toLowerCase());
    if (key === undefined || found === null || found === undefined) continue;
    if (typeof found !== 'string') throw fault(key, found);
    declared[key] = found;
  }
  return declared;
}

/** Returns duplicate keys of a YAML document, in the words of Go's reader. */
export const duplicateKeys = (duplicates: TextDocument['duplicates']): readonly string[] =>
  duplicates.map(
    ({ line, key }) => `line ${line}: key ${JSON.stringify(key.split('.').at(-1))} already set in map`,
  );

/** Decodes a parsed object. @throws {StatusError} 400 */
export function decodeAs(
  value: JsonObject,
  expected: Expected & { readonly declared?: { readonly apiVersion: string; readonly kind: string } },
  duplicates: readonly string[],
  literals?: Literals,
): ReadObject {
  const { declared = { apiVersion: stringAt(value, 'apiVersion'), kind: stringAt(value, 'kind') } } =
    expected;
  const sent = declared.apiVersion.replace(/^\//, ''); // `/v1` is the core group
  const apiVersion = expected.custom ? sent : sent || expected.apiVersion;
  const kind = declared.kind || expected.kind;
  const cannot = (why: string): StatusError =>
    expected.bare
      ? badRequest(why)
      : badRequest(
          `${kind} in version ${JSON.stringify(shortVersion(apiVersion))} cannot be handled as a ${expected.kind}: ${why}`,
        );
  try {
    if (expected.custom && value['apiVersion'] === null)
      throw badRequest(
        `${kind} in version "" cannot be handled as a ${expected.kind}: .apiVersion accessor error: <nil> is of the type <nil>, expected string`,
      );
    if (!expected.custom) refuseOthers(value, { apiVersion, kind }, expected, cannot);
    const { object, strict, empties } = decodeKind(
      expected,
      decodablePart(value, { apiVersion, kind }, expected),
      literals,
    );
    if (expected.custom) refuseOtherThanCustom(value, { ...expected, strict });
    const { apiVersion: _a, kind: _k, ...rest } = object;
    return { object: rest, strict: [...withoutUnknown(duplicates, strict), ...strict], empties };
  } catch (reason) {
    if (reason instanceof DecodeError) throw cannot(reason.message);
    throw reason;
  }
}

/** Returns what is decoded of an object: of one that is of another kind than the custom one, the metadata. */
function decodablePart(
  value: JsonObject,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  expected: Expected,
): JsonObject {
  const isOther = expected.custom && (apiVersion !== expected.apiVersion || kind !== expected.kind);
  return isOther ? { metadata: ownMember(value, 'metadata') } : value;
}

/** Returns duplicate keys without those inside unknown fields. */
function withoutUnknown(duplicates: readonly string[], strict: readonly string[]): readonly string[] {
  const named = (text: string, what: string): string =>
    text.startsWith(`${what} "`) ? text.slice(what.length + 2, -1) : '';
  const unknown = strict.map((text) => named(text, 'unknown field')).filter((path) => path !== '');
  return duplicates.filter((text) => {
    const path = named(text, 'duplicate field');
    return !unknown.some((one) => path === one || path.startsWith(`${one}.`) || path.startsWith(`${one}[`));
  });
}

/** Returns the findings of strict decoding as warnings, throws them, or ignores them (A5). @throws {StatusError} 400 */
export function judged(
  strict: readonly string[],
  validation: FieldValidation,
  { kind, apiVersion }: Expected,
): readonly string[] {
  if (strict.length === 0 || validation === 'Ignore') return [];
  if (validation === 'Warn') return strict;
  throw badRequest(
    `${kind} in version "${shortVersion(apiVersion)}" cannot be handled as a ${kind}: strict decoding error: ${strict.join(', ')}`,
  );
}

/** @throws {StatusError} 400 for an object of another kind or version */
function refuseOthers(
  value: JsonObject,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  expected: Expected,
  cannot: (why: string) => StatusError,
): void {
  const fits = expected.fits?.(apiVersion) ?? apiVersion === expected.apiVersion;
  if (fits && kind === expected.kind) return;
  const meta = metaKinds.has(`${apiVersion}/${kind}`);
  const registered =
    meta || (!expected.bare && findByKind(apiVersion, kind.replace(/List$/, '')) !== undefined);
  if (!registered)
    throw cannot(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
    );
  decodeOther(value, apiVersion, kind);
  if (kind !== expected.kind && (meta || apiVersion === expected.apiVersion))
    throw cannot(
      `converting (${shortVersion(apiVersion)}.${kind}) to (${expected.internal}): unknown conversion`,
    );
  throw badRequest(
    `the API version in the data (${apiVersion}) does not match the expected API version (${expected.apiVersion})`,
  );
}

/** Decodes an object of another kind first, so that its own faults are reported before the wrong kind. @throws {DecodeError} */
function decodeOther(value: JsonObject, apiVersion: string, kind: string): void {
  const other = findByKind(apiVersion, kind);
  if (other) decodeType(value, other.type);
  const element = kind.endsWith('List') ? findByKind(apiVersion, kind.slice(0, -'List'.length)) : undefined;
  const { items } = value;
  if (element && items !== undefined && items !== null && !Array.isArray(items))
    throw new DecodeError(
      `json: cannot unmarshal ${goKind(items)} into Go struct field ${kind}.items of type []${shortVersion(apiVersion)}.${element.kind}`,
    );
}

const shortVersion = (apiVersion: string): string => apiVersion.split('/').at(-1) ?? apiVersion;
const metaKinds = new Set(['v1/DeleteOptions', 'v1/Status', 'v1/ListOptions', 'v1/CreateOptions', 'v1/List']);

export const expectedOf = (kind: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly type: string;
  readonly custom?: CustomType;
}): Expected => ({
  apiVersion: groupVersionOf(kind),
  kind: kind.kind,
  type: kind.type,
  ...(kind.custom && { custom: kind.custom }),
  internal: internalName(kind),
});
