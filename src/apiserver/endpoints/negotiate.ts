import { setOwn, tableOf } from '../../base/own.ts';
import { notAcceptable, StatusError, unsupportedBody } from '../../apimachinery/status-error.ts';

/** How an answer is to be written. */
export interface Representation {
  readonly format: 'json' | 'yaml' | 'protobuf';
  /** A view of the object in place of itself. */
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
  /** `v1` or `v1beta1` of the view. */
  readonly version?: string;
  readonly pretty: boolean;
}

/** What a single object can be written as. */
export const mediaTypes: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
];

type Format = Representation['format'];

/** The formats by their media types. */
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

/** One clause of `Accept`, as goautoneg reads it; `undefined`: it is left out. */
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

/** Parameters that are one name with one value; others are as if they were not there. */
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

/** The clauses of `Accept` in their order. `precedes` is not transitive: that they are inserted one by one is part of the result. */
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

/** Which views an endpoint can give. */
export type Views = readonly NonNullable<Representation['as']>[];

/** The view that a clause asks for; `undefined`: there is none like that. */
function viewOf({ parameters }: Clause, views: Views): Pick<Representation, 'as' | 'version'> | undefined {
  const { as, g, v } = parameters;
  if ([as, g, v].every((one) => one === undefined)) return {};
  const view = views.find((one) => one === as);
  if (!view) return undefined;
  const group = view === 'APIGroupDiscoveryList' ? 'apidiscovery.k8s.io' : 'meta.k8s.io';
  const versions = view === 'APIGroupDiscoveryList' ? ['v2'] : ['v1', 'v1beta1'];
  return g === group && v !== undefined && versions.includes(v) ? { as: view, version: v } : undefined;
}

/** Streams are those of watches, and there are none of YAML; only resources have versions of the server. */
const isOpenTo = ({ parameters: { stream, sv } }: Clause, format: Format, views: Views): boolean =>
  (stream === undefined || (stream === 'watch' && format !== 'yaml')) &&
  (sv === undefined || (sv === 'v1' && views.length > 0));

/** How a clause can be met: by the first type that fits it; a Table has no protobuf message. */
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

/** Reads `Accept`: the first clause that can be met wins. @throws {StatusError} 406 */
export function negotiate(
  accept: string | undefined,
  options: {
    readonly views?: Views;
    readonly pretty?: boolean;
    /** What the layer that looks only at media types tells to be there; `false`: the layer is not there. {@link mediaTypes} unless said. */
    readonly produces?: readonly string[] | false;
    /** `false`: what is asked for has no protobuf message. */
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

/** How an error is written to a client that may accept nothing which could be written: then as JSON for its eyes. */
export function representationOfError(accept: string | undefined, pretty: boolean): Representation {
  try {
    return negotiate(accept, { produces: false, pretty });
  } catch {
    return { format: 'json', pretty: true };
  }
}

/** What a watch can be written as. */
export const watchTypes: readonly string[] = [
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
];

/** What a list or watch can be written as. */
export const listTypes: readonly string[] = [...mediaTypes, ...watchTypes];

/** The media types that a header names, without their parameters. */
const named = (header: string): readonly string[] =>
  header.split(',').map((part) => trimmed(part.split(';')[0] ?? ''));

/** What may be said of the body of a GET. @throws {StatusError} 415 */
export function checkConsumed(contentType = '', consumes: readonly string[]): void {
  if (contentType !== '' && !named(contentType).some((type) => consumes.includes(type)))
    throw unsupportedBody();
}

/** What the layer that looks only at media types lets through: of those only whole types, and any. @throws {StatusError} 406 */
export function checkOffered(accept = '', produces: readonly string[]): void {
  if (!named(accept === '' ? '*/*' : accept).some((type) => type === '*/*' || produces.includes(type)))
    throw noRepresentation(produces);
}

/** 406 of the layer that looks only at media types. */
const noRepresentation = (produces: readonly string[]): StatusError =>
  new StatusError(
    406,
    'NotAcceptable',
    `406: Not Acceptable\n\nAvailable representations: ${produces.join(', ')}`,
    {
      details: {},
    },
  );

/** A browser or curl gets indented JSON. */
export const wantsPretty = (query: URLSearchParams, agent: string | undefined): boolean => {
  const asked = query.get('pretty') ?? '';
  if (asked !== '') return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(asked);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(agent ?? '');
};

const token = String.raw`[!#$%&'*+\-.^_\`|~0-9A-Za-z]+`;
const parameter = new RegExp(String.raw`^\s*;\s*(${token})\s*=\s*(?:${token}|"(?:[^"\\]|\\.)*")`);
const typeOf = new RegExp(`^${token}(?:/${token})?$`);

/** The media type of a `Content-Type`, in small letters; `undefined` for what Go's `mime.ParseMediaType` cannot read. */
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
