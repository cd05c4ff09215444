import { setOwn, tableOf } from '../../base/own.ts';
import { notAcceptable, StatusError, unsupportedBody } from '../../apimachinery/status-error.ts';

/** View of an object that a client may request instead of the object itself. */
export type View = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';

/** Format of a response. */
export interface Representation {
  readonly format: 'json' | 'yaml' | 'protobuf';
  /** View of the object instead of the object itself. */
  readonly as?: View;
  /** `v1` or `v1beta1` of the view. */
  readonly version?: string;
  readonly pretty: boolean;
}

/** Formats of a single object. */
export const mediaTypes: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
];

type Format = Representation['format'];

/** Formats by media type. */
export const formats: Readonly<Record<string, Format>> = tableOf({
  'application/json': 'json',
  'application/yaml': 'yaml',
  'application/vnd.kubernetes.protobuf': 'protobuf',
});

interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly quality: number;
}

const trimmed = (text: string): string => text.replace(/^ +| +$/g, '');

/** Parses one clause of `Accept` like goautoneg; `undefined`: it is ignored. */
function readClause(text: string): Clause | undefined {
  const [media = '', ...rest] = trimmed(text).split(';');
  const [type = '', subtype = '', ...more] = media.split('/');
  const any = trimmed(type) === '*' && subtype === '';
  if ((subtype === '' && !any) || more.some((part) => part !== '')) return undefined;
  const { q, ...parameters } = readParameters(rest);
  return {
    type: trimmed(type),
    subtype: any ? '*' : trimmed(subtype),
    parameters,
    quality: q === undefined ? 1 : Number(q) || 0,
  };
}

/** Parses parameters with one name and one value; others are ignored. */
function readParameters(parts: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const part of parts) {
    const [name = '', value = '', ...more] = part.split('=');
    if (value !== '' && more.every((text) => text === '')) setOwn(found, trimmed(name), trimmed(value));
  }
  return found;
}

const precedes = (a: Clause, b: Clause): boolean =>
  a.quality > b.quality || (a.type !== '*' && b.type === '*') || (a.subtype !== '*' && b.subtype === '*');

/** Returns the clauses of `Accept` in order. `precedes` is not transitive: inserting one by one is part of the behaviour. */
function clauses(accept: string): readonly Clause[] {
  const sorted: Clause[] = [];
  for (const text of accept.split(',')) {
    const clause = readClause(text);
    if (!clause) continue;
    let at = sorted.length;
    while (at > 0 && precedes(clause, sorted[at - 1] ?? clause)) at--;
    sorted.splice(at, 0, clause);
  }
  return sorted;
}

/** The views that an endpoint supports. */
export type Views = readonly View[];

/** Returns the view that a clause requests; `undefined`: it is not supported. */
function viewOf({ parameters }: Clause, views: Views): Pick<Representation, 'as' | 'version'> | undefined {
  const { as, g, v } = parameters;
  if ([as, g, v].every((one) => one === undefined)) return {};
  const view = views.find((one) => one === as);
  if (!view) return undefined;
  const group = view === 'APIGroupDiscoveryList' ? 'apidiscovery.k8s.io' : 'meta.k8s.io';
  const versions = view === 'APIGroupDiscoveryList' ? ['v2'] : ['v1', 'v1beta1'];
  return g === group && v !== undefined && versions.includes(v) ? { as: view, version: v } : undefined;
}

/** Reports whether a clause's parameters are supported: streams are for watches and not in YAML; only resources have server versions. */
const isOpenTo = ({ parameters: { stream, sv } }: Clause, format: Format, views: Views): boolean =>
  (stream === undefined || (stream === 'watch' && format !== 'yaml')) &&
  (sv === undefined || (sv === 'v1' && views.length > 0));

/** Returns how a clause can be satisfied: by the first matching type; a Table has no protobuf message. */
function answerTo(
  clause: Clause,
  views: Views,
  protobuf: boolean,
): Omit<Representation, 'pretty'> | undefined {
  const fits = (type: string): boolean =>
    clause.subtype === '*'
      ? clause.type === '*' || type.startsWith(`${clause.type}/`)
      : type === `${clause.type}/${clause.subtype}`;
  const view = viewOf(clause, views);
  const format = Object.entries(formats)
    .filter(([type]) => fits(type))
    .map(([, one]) => one)
    .find(
      (one) => (one !== 'protobuf' || (protobuf && view?.as !== 'Table')) && isOpenTo(clause, one, views),
    );
  return format && view && { format, ...view };
}

/** Parses `Accept`: the first clause that can be satisfied is used. @throws {StatusError} 406 */
export function negotiate(
  accept: string | undefined,
  options: {
    readonly views?: Views;
    readonly pretty?: boolean;
    /** Media types of the layer that checks only media types; `false`: there is no such layer. Default {@link mediaTypes}. */
    readonly produces?: readonly string[] | false;
    /** `false`: the response has no protobuf message. */
    readonly protobuf?: boolean;
  } = {},
): Representation {
  const { pretty = false, produces = mediaTypes, views = [], protobuf = true } = options;
  if (produces) checkOffered(accept, produces);
  if (accept === undefined || accept === '') return { format: 'json', pretty };
  for (const clause of clauses(accept)) {
    const met = answerTo(clause, views, protobuf);
    if (met) return { ...met, pretty: pretty || clause.parameters['pretty'] === '1' };
  }
  throw notAcceptable(mediaTypes);
}

/** Returns the format of an error: JSON for a client that accepts nothing else that is supported. */
export function representationOfError(accept: string | undefined, pretty: boolean): Representation {
  try {
    return negotiate(accept, { produces: false, pretty });
  } catch {
    return { format: 'json', pretty: true };
  }
}

/** Formats of a watch. */
export const watchTypes: readonly string[] = [
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
];

/** Formats of a list or watch. */
export const listTypes: readonly string[] = [...mediaTypes, ...watchTypes];

/** Returns the media types in a header, without parameters. */
const named = (header: string): readonly string[] =>
  header.split(',').map((part) => trimmed(part.split(';')[0] ?? ''));

/** Checks the content type of a GET. @throws {StatusError} 415 */
export function checkConsumed(contentType = '', consumes: readonly string[]): void {
  if (contentType !== '' && !named(contentType).some((type) => consumes.includes(type)))
    throw unsupportedBody();
}

/** Checks `Accept` like the layer that checks only media types: accepts full types and `*` only. @throws {StatusError} 406 */
export function checkOffered(accept = '', produces: readonly string[]): void {
  if (!named(accept === '' ? '*/*' : accept).some((type) => type === '*/*' || produces.includes(type)))
    throw noRepresentation(produces);
}

/** Returns the 406 of the layer that checks only media types. */
const noRepresentation = (produces: readonly string[]): StatusError =>
  new StatusError(
    406,
    'NotAcceptable',
    `406: Not Acceptable\n\nAvailable representations: ${produces.join(', ')}`,
    {
      details: {},
    },
  );

/** Reports whether JSON is indented: on request, and for browsers and curl. */
export const wantsPretty = (query: URLSearchParams, agent: string | undefined): boolean => {
  const pretty = query.get('pretty') ?? '';
  if (pretty !== '') return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(pretty);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(agent ?? '');
};

const token = String.raw`[!#$%&'*+\-.^_\`|~0-9A-Za-z]+`;
const parameter = new RegExp(String.raw`^\s*;\s*(${token})\s*=\s*(?:${token}|"(?:[^"\\]|\\.)*")`);
const typeOf = new RegExp(`^${token}(?:/${token})?$`);

/** Returns the media type of a `Content-Type` in lower case; `undefined` where Go's `mime.ParseMediaType` fails. */
export function mediaTypeOf(text: string): string | undefined {
  const end = text.includes(';') ? text.indexOf(';') : text.length;
  const type = text.slice(0, end).trim().toLowerCase();
  if (!typeOf.test(type)) return undefined;
  const seen = new Set<string>();
  for (let rest = text.slice(end); rest.trim() !== '' && rest.trim() !== ';';) {
    const [whole, name = ''] = parameter.exec(rest) ?? [];
    if (whole === undefined || seen.has(name.toLowerCase())) return undefined;
    seen.add(name.toLowerCase());
    rest = rest.slice(whole.length);
  }
  return type;
}
