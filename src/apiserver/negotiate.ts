import { notAcceptable, StatusError } from './status-error.ts';

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

interface Clause {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly quality: number;
}

/** Nothing that is said accepts anything. */
function clauses(said = ''): Clause[] {
  const accept = said.trim() === '' ? '*/*' : said;
  return accept
    .split(',')
    .map((text) => {
      const [type = '', ...rest] = text.split(';').map((part) => part.trim());
      const parameters: Record<string, string> = {};
      for (const part of rest) {
        const [key = '', value = ''] = part.split('=');
        parameters[key] = value;
      }
      const quality = Number(parameters['q'] ?? 1);
      return { type, parameters, quality: Number.isNaN(quality) ? 1 : quality };
    })
    .sort((a, b) => b.quality - a.quality);
}

const formats: Readonly<Record<string, Representation['format']>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  'application/yaml': 'yaml',
  'application/vnd.kubernetes.protobuf': 'protobuf',
};

/** Which views an endpoint can give. */
export type Views = readonly NonNullable<Representation['as']>[];

function viewOf({ parameters }: Clause, views: Views): Pick<Representation, 'as' | 'version'> | undefined {
  const as = parameters['as'];
  if (as === undefined) return 'g' in parameters || 'v' in parameters ? undefined : {};
  const view = views.find((one) => one === as);
  if (!view) return undefined;
  const group = view === 'APIGroupDiscoveryList' ? 'apidiscovery.k8s.io' : 'meta.k8s.io';
  const versions = view === 'APIGroupDiscoveryList' ? ['v2'] : ['v1', 'v1beta1'];
  if (parameters['g'] !== group || !versions.includes(parameters['v'] ?? '')) return undefined;
  return { as: view, version: parameters['v'] ?? 'v1' };
}

/** How a clause can be met; a Table has no protobuf message. */
function answerTo(
  clause: Clause,
  views: Views,
  protobuf: boolean,
): Omit<Representation, 'pretty'> | undefined {
  const format = formats[clause.type];
  if (!format || (format === 'protobuf' && !protobuf)) return undefined;
  const view = viewOf(clause, views);
  return !view || (view.as === 'Table' && format === 'protobuf') ? undefined : { format, ...view };
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
  const wanted = clauses(accept);
  if (produces && !wanted.some(({ type }) => offered(type))) throw noRepresentation(produces);
  for (const clause of wanted) {
    const met = answerTo(clause, views, protobuf);
    if (met) return { ...met, pretty: pretty || clause.parameters['pretty'] === '1' };
  }
  throw notAcceptable(mediaTypes);
}

/** What a watch can be written as. */
export const watchTypes: readonly string[] = [
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
];

/** What a list or watch can be written as. */
export const listTypes: readonly string[] = [...mediaTypes, ...watchTypes];

/** Only whole types count, and any. */
const offered = (type: string): boolean => type === '*/*' || mediaTypes.includes(type);

/** 406 of the layer that looks only at media types. */
export const noRepresentation = (produces: readonly string[]): StatusError =>
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
  const asked = query.get('pretty');
  if (asked !== null) return asked !== 'false' && asked !== '0';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(agent ?? '');
};
