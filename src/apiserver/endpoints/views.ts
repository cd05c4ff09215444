import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json.ts';
import { groupVersionOf, internalName, type Kind } from '../../apimachinery/kinds.ts';
import type { Representation, Views } from './negotiate.ts';
import { badRequest, StatusError } from '../../apimachinery/status-error.ts';
import type { Entry } from '../storage/store.ts';
import type { Strategy } from '../registry/strategy.ts';
import { columnsOf, hasPrinter, rowOf } from '../printers/table.ts';

/** The view of a request's objects. */
export interface View {
  readonly strategy: Strategy;
  readonly representation: Representation;
  /** For a Table: what each row includes. */
  readonly include: 'None' | 'Metadata' | 'Object';
}

/** Parses `includeObject`. @throws {StatusError} 400 */
export function viewFor(strategy: Strategy, representation: Representation, query: URLSearchParams): View {
  const include = query.get('includeObject') ?? '';
  if (
    representation.as === 'Table' &&
    include !== '' &&
    include !== 'None' &&
    include !== 'Metadata' &&
    include !== 'Object'
  )
    throw badRequest(
      `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(include)}: must be 'Metadata', 'Object', 'None', or empty`,
    );
  return {
    strategy,
    representation,
    include: include === 'None' || include === 'Object' ? include : 'Metadata',
  };
}

const typed = (kind: Kind): string => `{"kind":"${kind.kind}","apiVersion":"${groupVersionOf(kind)}",`;

/** Returns the text of a stored object with its kind; reuses the stored text when stored and served form are equal. */
export function entryText(entry: Entry, strategy: Strategy, withKind: boolean): string {
  const served = strategy.fromStorage?.(entry.object) ?? entry.object;
  const json = served === entry.object ? entry.json : JSON.stringify(served);
  return withKind ? typed(strategy.kind) + json.slice(1) : json;
}

export const metaVersion = (representation: Representation): string =>
  `meta.k8s.io/${representation.version ?? 'v1'}`;

/** Returns an object as PartialObjectMetadata. */
export const partial = (object: JsonObject, representation: Representation): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: metaVersion(representation),
  metadata: objectAt(object, 'metadata'),
});

/** Returns the PartialObjectMetadata of a stored object. */
const partialOf = (object: JsonObject, { strategy, representation }: View): JsonObject =>
  partial((strategy.internal ?? strategy.fromStorage)?.(object) ?? object, representation);

const withKind = (object: JsonObject, kind: Kind): JsonObject => ({
  kind: kind.kind,
  apiVersion: groupVersionOf(kind),
  ...object,
});

function rowIn(strategy: Strategy, object: JsonObject, now: number, shown: unknown): JsonObject {
  const { kind, printer } = strategy;
  if (!printer) return { ...rowOf(kind, object, now, shown) };
  return { cells: printer.cells(strategy.fromStorage?.(object) ?? object, now), object: shown };
}

/** Returns a Table of stored objects. */
export function tableOf(
  objects: readonly JsonObject[],
  view: View,
  at: { readonly now: number; readonly metadata: JsonObject; readonly columns: boolean },
): JsonObject {
  const { strategy, representation, include } = view;
  const kind = strategy.kind;
  const shown = (object: JsonObject): unknown => {
    if (include === 'None') return null;
    if (include === 'Metadata') return partialOf(object, view);
    return withKind(strategy.fromStorage?.(object) ?? object, kind);
  };
  const rows = objects.map((object) => rowIn(strategy, object, at.now, shown(object)));
  return {
    kind: 'Table',
    apiVersion: metaVersion(representation),
    metadata: at.metadata,
    columnDefinitions: at.columns ? (strategy.printer?.columns ?? columnsOf(kind)) : null,
    rows: rows.length > 0 || strategy.printer || hasPrinter(kind) ? rows : null,
  };
}

/** Returns a stored object in the requested view; `undefined`: as itself. */
export function viewOne(object: JsonObject, view: View, now: number, columns = true): JsonObject | undefined {
  const { representation, strategy } = view;
  if (representation.as === 'Table')
    return tableOf([object], view, {
      now,
      columns,
      metadata: { resourceVersion: stringAt(objectAt(object, 'metadata'), 'resourceVersion') },
    });
  if (representation.as === 'PartialObjectMetadata') return partialOf(object, view);
  if (representation.as === 'PartialObjectMetadataList')
    throw notThatMany(representation.as, internalName(strategy.kind));
  return undefined;
}

/** The views of a response that is not a stored object: it has no columns. */
export const bareViews: Views = ['PartialObjectMetadata', 'PartialObjectMetadataList'];

/** Returns such a response in the requested view; a Status is always itself. @throws {StatusError} 406 */
export function viewBare(body: JsonObject, { as, version }: Representation, internal: string): JsonObject {
  if (as === undefined || body['kind'] === 'Status') return body;
  if (as === 'PartialObjectMetadataList') throw notThatMany(as, internal);
  return partial(body, { format: 'json', pretty: false, ...(version !== undefined && { version }) });
}

/** Returns the 406 for an object requested as a list, or a list requested as an object. */
const notThatMany = (
  as: 'PartialObjectMetadata' | 'PartialObjectMetadataList',
  internal: string,
): StatusError => {
  const is = as === 'PartialObjectMetadata' ? `a list (*${internal}List)` : `not a list (*${internal})`;
  return new StatusError(406, 'NotAcceptable', `you requested ${as}, but the requested object is ${is}`);
};

/** Returns the body of a list. */
export function listBody(
  entries: readonly Entry[],
  view: View,
  metadata: JsonObject,
  now: number,
): JsonObject {
  const { representation, strategy } = view;
  if (representation.as === 'PartialObjectMetadata')
    throw notThatMany(representation.as, internalName(strategy.kind));
  if (representation.as === 'Table')
    return tableOf(
      entries.map((entry) => entry.object),
      view,
      { now, metadata, columns: true },
    );
  if (representation.as === 'PartialObjectMetadataList')
    return {
      kind: 'PartialObjectMetadataList',
      apiVersion: metaVersion(representation),
      metadata,
      items: entries.length > 0 ? entries.map(({ object }) => partialOf(object, view)) : null,
    };
  return {
    kind: listKindOf(strategy.kind),
    apiVersion: groupVersionOf(strategy.kind),
    metadata,
    items: entries.map(({ object }) => strategy.fromStorage?.(object) ?? object),
  };
}

const listKindOf = (kind: Kind): string => kind.listKind ?? `${kind.kind}List`;

/** Characters that are gathered into one piece. */
const pieceSize = 64 * 1024;

/** Yields the JSON text of a list of objects as themselves, in pieces. */
export function* listPieces(
  entries: readonly Entry[],
  strategy: Strategy,
  metadata: JsonObject,
): Generator<string, undefined> {
  const { kind } = strategy;
  let piece = `{"kind":"${listKindOf(kind)}","apiVersion":"${groupVersionOf(kind)}","metadata":${JSON.stringify(metadata)},"items":[`;
  for (const [i, entry] of entries.entries()) {
    piece += (i === 0 ? '' : ',') + entryText(entry, strategy, false);
    if (piece.length < pieceSize) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]}\n`;
}
