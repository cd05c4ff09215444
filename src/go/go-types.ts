/**
 * Error messages of Go's JSON decoder, so that operators see what they know from the kubelet.
 */

/** Returns the JSON type of a value for a message; `number 1.5` only where the number itself is invalid. */
export function jsonTypeOf(value: unknown, named = false): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' && named) return `number ${String(value)}`;
  return typeof value;
}

/** Named integer types. */
const integers: ReadonlySet<string> = new Set(['v1.VerbosityLevel']);

/**
 * Returns the message for a value of the wrong type: `json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type
 * int32`.
 */
export function cannotUnmarshal(value: unknown, owner: string, path: string, type: string): string {
  const named = /^u?int(8|16|32|64)$/.test(type) || integers.has(type);
  return `json: cannot unmarshal ${jsonTypeOf(value, named)} into Go struct field ${owner}.${path} of type ${type}`;
}

/** Group, version and kind of a document. */
export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

const typeMetaStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

const metaFault = (text: string): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${text}`;

/** Returns a member like Go's JSON decoder: the exact name is preferred, otherwise any case. */
function inAnyCase(members: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(members, name)) return members[name];
  const other = Object.keys(members).find((key) => key.toLowerCase() === name.toLowerCase());
  return other === undefined ? undefined : members[other];
}

/** Reads kind and version of a document. @returns the error message when it is not an object or lacks them */
export function typeMetaOf(value: unknown, body: string): TypeMeta | string {
  if (value !== null && (typeof value !== 'object' || Array.isArray(value)))
    return metaFault(`${jsonTypeOf(value)} into Go value of type ${typeMetaStruct}`);
  const members = (value ?? {}) as Readonly<Record<string, unknown>>;
  const [apiVersion, kind] = [inAnyCase(members, 'apiVersion'), inAnyCase(members, 'kind')];
  for (const [name, member] of Object.entries({ apiVersion: apiVersion ?? '', kind: kind ?? '' }))
    if (typeof member !== 'string')
      return metaFault(`${jsonTypeOf(member)} into Go struct field .${name} of type string`);
  return namedBy(apiVersion, kind, body);
}

function namedBy(apiVersion: unknown, kind: unknown, body: string): TypeMeta | string {
  const version = isText(apiVersion) ? groupVersionOf(apiVersion) : undefined;
  if (version === 'odd') return `unexpected GroupVersion string: ${String(apiVersion)}`;
  if (!isText(kind)) return `Object 'Kind' is missing in '${body}'`;
  return version ? { apiVersion: version, kind } : `Object 'apiVersion' is missing in '${body}'`;
}

/** Parses `group/version`; `/v1` is of the core group like `v1`. `undefined` without a version or with two slashes. */
function groupVersionOf(apiVersion: string): string | undefined {
  const [group = '', version, ...rest] = apiVersion.split('/');
  if (rest.length > 0) return 'odd';
  if (version === '') return undefined;
  return group === '' ? version : apiVersion;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
