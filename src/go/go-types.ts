/**
 * The words in which Go's JSON decoder rejects a value, so that operators read what they know from the kubelet.
 */

/** `number 1.5` only where the number itself is the fault; else the JSON type of a value. */
export function jsonTypeOf(value: unknown, named = false): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' && named) return `number ${String(value)}`;
  return typeof value;
}

/** Integers by another name. */
const integers: ReadonlySet<string> = new Set(['v1.VerbosityLevel']);

/** A value that does not fit its field: `json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32`. */
export function cannotUnmarshal(value: unknown, owner: string, path: string, type: string): string {
  const named = /^u?int(8|16|32|64)$/.test(type) || integers.has(type);
  return `json: cannot unmarshal ${jsonTypeOf(value, named)} into Go struct field ${owner}.${path} of type ${type}`;
}

/** What has to be said of each whole document: its group, version and kind. */
export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

const typeMetaStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

const metaFault = (text: string): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${text}`;

/** A member as Go's JSON reader finds it: in any case, as it is named where that is there. */
function inAnyCase(members: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(members, name)) return members[name];
  const other = Object.keys(members).find((key) => key.toLowerCase() === name.toLowerCase());
  return other === undefined ? undefined : members[other];
}

/** Reads kind and version. @returns the fault as text when the document is no object or does not say */
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

/** `/v1` is of the group without a name, as `v1` is; a group alone has no version, and there are no two slashes. */
function groupVersionOf(apiVersion: string): string | undefined {
  const [group = '', version, ...rest] = apiVersion.split('/');
  if (rest.length > 0) return 'odd';
  if (version === '') return undefined;
  return group === '' ? version : apiVersion;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
