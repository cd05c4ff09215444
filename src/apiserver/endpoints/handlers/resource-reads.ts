import {
  type Exchange,
  isSentAsStored,
  listingOf,
  loadListed,
  type ResourceApiDeps,
  representationOf,
  send,
  typed,
} from '../exchange.ts';
import { listPage, type ListOptions, parseVersion, type Selection } from '../list-options.ts';
import { watchTypes } from '../negotiate.ts';
import { sendPieces, sendText } from '../respond.ts';
import { notAcceptable, StatusError, tooLargeVersion } from '../../../apimachinery/status-error.ts';
import { entryText, listBody, listPieces, type View, viewFor, viewOne } from '../views.ts';
import { Watch } from './watch.ts';
import { wantsWebSocket } from '../../request/upgrade.ts';
import { bodyOutlet, webSocketOutlet } from './watch-outlet.ts';

/** @throws {StatusError} 500 for a resourceVersion that is not a number */
function checkNumber(text: string): void {
  if (text !== '' && !/^\d+$/.test(text))
    throw new StatusError(
      500,
      '',
      `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
}

/** ResourceReads implements get, list and watch of a stored kind. */
export class ResourceReads {
  readonly #deps: ResourceApiDeps;

  constructor(deps: ResourceApiDeps) {
    this.#deps = deps;
  }

  /** Gets one object, after pending writes. @throws {StatusError} */
  async get(exchange: Exchange): Promise<void> {
    const { request, target, kind, strategy, registry } = exchange;
    const { store, clock } = this.#deps.world;
    const representation = representationOf(exchange);
    const resourceVersion = request.query.get('resourceVersion') ?? '';
    // Events are read without a cache, which has another message
    if (kind.resource === 'events') parseVersion(resourceVersion);
    else checkNumber(resourceVersion);
    if (Number(resourceVersion) > store.version) throw tooLargeVersion(resourceVersion, store.version);
    if (store.busy) await store.settled();
    await registry.load(target.namespace, target.name);
    const entry = registry.entry(target.namespace, target.name);
    if (isSentAsStored(request, representation))
      return sendText(request.raw, exchange.response, {
        status: 200,
        type: 'application/json',
        text: `${entryText(entry, strategy, true)}\n`,
      });
    const body =
      viewOne(entry.object, viewFor(strategy, representation, request.query), clock.now()) ??
      typed(kind, registry.served(entry));
    return send(exchange, { status: 200, body, representation });
  }

  /** Lists objects, or watches them if the query asks for it. @throws {StatusError} */
  async list(exchange: Exchange): Promise<void> {
    const { request, response, strategy } = exchange;
    const { store, clock } = this.#deps.world;
    const representation = representationOf(exchange, true);
    const { options, selection } = listingOf(exchange);
    const view = viewFor(strategy, representation, request.query);
    if (store.busy) await store.settled();
    if (options.watch) return this.#watch(exchange, view, options, selection);
    await loadListed(store, selection, { options, strategy });
    const { entries, metadata } = listPage(store, selection, options);
    if (isSentAsStored(request, representation))
      return sendPieces(request.raw, response, {
        type: 'application/json',
        pieces: listPieces(entries, strategy, metadata),
      });
    const body = listBody(entries, view, metadata, clock.now());
    return send(exchange, { status: 200, body, representation });
  }

  async #watch(exchange: Exchange, view: View, options: ListOptions, selection: Selection): Promise<void> {
    const { representation } = view;
    if (representation.format === 'yaml') throw notAcceptable(watchTypes);
    checkNumber(options.resourceVersion);
    const { store, clock, random } = this.#deps.world;
    const { as, ...plain } = representation;
    const one = as === 'PartialObjectMetadataList' ? plain : representation;
    const { stopping, customs, watches } = this.#deps;
    const replacement = customs.replacementOf(exchange.kind);
    const { raw, upgrading } = exchange.request;
    const isText = one.format !== 'protobuf';
    const type = isText ? 'application/json' : 'application/vnd.kubernetes.protobuf;stream=watch';
    const outlet =
      upgrading && wantsWebSocket(upgrading)
        ? await webSocketOutlet(upgrading, isText)
        : bodyOutlet(raw, exchange.response, type);
    new Watch(
      {
        selection,
        options,
        view: { ...view, representation: one },
        store,
        clock,
        random,
        stopping,
        replacement,
        sent: watches.of(exchange.kind),
      },
      outlet,
    ).run();
  }
}
