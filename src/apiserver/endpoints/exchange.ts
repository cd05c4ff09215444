import type { ServerResponse } from 'node:http';
import { type JsonObject, nameOf, objectAt, stringAt } from '../../apimachinery/json.ts';
import { groupVersionOf, type Kind } from '../../apimachinery/kinds.ts';
import {
  checkListOptions,
  type ListOptions,
  listPage,
  readListOptions,
  type Selection,
} from './list-options.ts';
import type { Store } from '../storage/store.ts';
import { listTypes, negotiate, type Representation, wantsPretty } from './negotiate.ts';
import { isWritable } from '../../apimachinery/serializer/protobuf-writer.ts';
import type { Registry } from '../registry/registry.ts';
import { checkKey } from '../registry/write-checks.ts';
import type { CustomResources } from '../apiextensions/custom-resources.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { ApiRequest, ResourcePath } from '../request/request.ts';
import { sendBody, sendText } from './respond.ts';
import { fieldMatcher, fieldTerms, labelMatcher, type Matcher } from '../../apimachinery/selectors.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import type { Strategy } from '../registry/strategy.ts';
import type { World, WriteContext } from '../request/write-context.ts';
import type { WatchMetrics } from './handlers/watch-metrics.ts';
import { entryText, viewFor, viewOne } from './views.ts';

export interface ResourceApiDeps {
  readonly world: World;
  readonly stopping: AbortSignal;
  readonly admission: AdmissionChain;
  readonly watches: WatchMetrics;
  /** Kinds that CustomResourceDefinitions declare. */
  readonly customs: CustomResources;
}

/** One request on a stored kind. */
export interface Exchange {
  readonly request: ApiRequest;
  readonly response: ServerResponse;
  readonly target: ResourcePath;
  readonly kind: Kind;
  readonly strategy: Strategy;
  readonly registry: Registry;
}

/** Returns the representation that the client accepts. @throws {StatusError} 406 */
export const representationOf = ({ request, kind }: Exchange, list = false): Representation =>
  negotiate(request.raw.headers.accept, {
    views: ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'],
    pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
    protobuf: isWritable(kind.type),
    ...(list && request.method === 'GET' && { produces: listTypes }),
  });

/** Reports whether objects are sent as themselves in the JSON that they are stored in, and no filter reads the answer as an object. */
export const isSentAsStored = ({ audit }: ApiRequest, { format, pretty, as }: Representation): boolean =>
  format === 'json' && !pretty && as === undefined && audit?.wantsAnswer !== true;

/** Returns the object with kind and version in front. */
export const typed = (kind: Kind, object: JsonObject): JsonObject => ({
  kind: kind.kind,
  apiVersion: groupVersionOf(kind),
  ...object,
});

/** A body to send. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly representation: Representation;
  readonly warnings?: readonly string[];
}

export const send = (exchange: Exchange, answer: Answer): Promise<void> => {
  const { status, body, representation, warnings = [] } = answer;
  return sendBody(exchange.request.raw, exchange.response, {
    status,
    body,
    representation,
    extras: { warnings },
  });
};

/** Sends a written object in the requested view. */
export function sendObject(
  exchange: Exchange,
  now: number,
  answer: Answer & { readonly body: JsonObject },
): Promise<void> {
  const { request, kind, strategy, registry } = exchange;
  const { representation, status, warnings = [] } = answer;
  if (isSentAsStored(request, representation)) {
    const entry = registry.entryServedAs(answer.body);
    const text = entry ? entryText(entry, strategy, true) : JSON.stringify(typed(kind, answer.body));
    const content = { status, type: 'application/json', text: `${text}\n`, extras: { warnings } };
    return sendText(request.raw, exchange.response, content);
  }
  const stored = strategy.toStorage?.(answer.body) ?? answer.body;
  const special = viewOne(stored, viewFor(strategy, representation, request.query), now);
  return send(exchange, { ...answer, body: special ?? typed(kind, answer.body) });
}

/** Returns a matcher of stored objects that judges what a webhook made of them. */
const servedIn = (strategy: Strategy, matches: Matcher): Matcher =>
  strategy.conversion ? (object) => matches(strategy.fromStorage?.(object) ?? object) : matches;

/**
 * Parses the selection of a list, a watch or a collection's deletion. Unparsable selectors are reported before invalid combinations of
 * options, unselectable fields after them.
 *
 * @throws {StatusError} 400, 422
 */
export function listingOf({ request, target, kind, strategy }: Exchange): {
  readonly options: ListOptions;
  readonly selection: Selection;
} {
  const options = readListOptions(request.query);
  const labels = request.query.get('labelSelector') ?? '';
  const byLabel = labels === '' ? undefined : labelMatcher(labels);
  const terms = fieldTerms(request.query.get('fieldSelector') ?? '');
  checkListOptions(options);
  const byField = terms.length === 0 ? undefined : fieldMatcher(terms, kind);
  checkKey(kind, target.namespace);
  const selection = {
    storage: kind.storage,
    prefix: kind.namespaced && target.namespace !== '' ? `${target.namespace}/` : '',
    matches: servedIn(strategy, (object) => (byLabel?.(object) ?? true) && (byField?.(object) ?? true)),
    selective: byLabel !== undefined || byField !== undefined,
    ofOneName: terms.some(({ field, equal }) => equal && field === 'metadata.name'),
  };
  return { options, selection };
}

/** Converts what a list is about to read, where that takes a webhook: selectors see converted objects, too. @throws {StatusError} */
export async function loadListed(
  store: Store,
  selection: Selection,
  { options, strategy }: { readonly options: ListOptions; readonly strategy: Strategy },
): Promise<void> {
  if (!strategy.conversion) return;
  const all = { ...selection, matches: () => true };
  await strategy.conversion.load(() =>
    listPage(store, all, { ...options, limit: 0 }).entries.map(({ object }) => object),
  );
}

export const contextOf = (world: World, request: ApiRequest, dryRun: boolean): WriteContext => ({
  world,
  user: request.user,
  now: world.clock.now(),
  dryRun,
  warnings: [],
  ...annotating(request),
});

const annotating = ({ audit }: ApiRequest): Pick<WriteContext, 'annotate'> =>
  audit
    ? {
        annotate: (key, value, least) => {
          audit.annotate(key, value, least);
        },
      }
    : {};

export const keyIn = (target: ResourcePath): string =>
  target.namespace && target.kind?.namespaced ? `${target.namespace}/${target.name}` : target.name;

/** Returns the Status of a DELETE that does not return the object. */
export const deletedStatus = (kind: Kind, object: JsonObject): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: {
    name: nameOf(object),
    ...(kind.group && { group: kind.group }),
    kind: kind.resource,
    uid: stringAt(objectAt(object, 'metadata'), 'uid'),
  },
});

/** Warnings that are sent with an error. */
export const warningsOf: WeakMap<StatusError, readonly string[]> = new WeakMap<
  StatusError,
  readonly string[]
>();

export function withWarnings(reason: unknown, warnings: readonly string[]): unknown {
  if (reason instanceof StatusError && warnings.length > 0) warningsOf.set(reason, warnings);
  return reason;
}
