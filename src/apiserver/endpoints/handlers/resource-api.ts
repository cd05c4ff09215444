import { ownMember } from '../../../base/own.ts';
import type { ServerResponse } from 'node:http';
import type { Exchange, ResourceApiDeps } from '../exchange.ts';
import type { Kind } from '../../../apimachinery/kinds.ts';
import { Registry } from '../../registry/registry.ts';
import type { ApiRequest, ResourcePath } from '../../request/request.ts';
import { ResourceReads } from './resource-reads.ts';
import { ResourceWrites } from './resource-writes.ts';
import { methodNotAllowed } from '../../../apimachinery/status-error.ts';
import { strategies } from '../../registry/strategy-table.ts';

type Verb = (exchange: Exchange) => Promise<void>;

/** ResourceApi routes requests on stored kinds to their verbs. */
export class ResourceApi {
  readonly #deps: ResourceApiDeps;
  readonly #registries = new WeakMap<Kind, Registry>();
  readonly #ofItem: Readonly<Record<string, Verb>>;
  readonly #ofCollection: Readonly<Record<string, Verb>>;

  constructor(deps: ResourceApiDeps) {
    this.#deps = deps;
    const reads = new ResourceReads(deps);
    const writes = new ResourceWrites(deps);
    this.#ofItem = {
      GET: (exchange) => reads.get(exchange),
      PUT: (exchange) => writes.update(exchange),
      PATCH: (exchange) => writes.patch(exchange),
      DELETE: (exchange) => writes.delete(exchange),
    };
    this.#ofCollection = {
      GET: (exchange) => reads.list(exchange),
      POST: (exchange) => writes.create(exchange),
      DELETE: (exchange) => writes.deleteCollection(exchange),
    };
  }

  /** Kinds that CustomResourceDefinitions declare at present. */
  get customKinds(): readonly Kind[] {
    return this.#deps.customs.kinds;
  }

  registry(kind: Kind): Registry {
    let registry = this.#registries.get(kind);
    if (!registry) {
      const strategy = strategies.get(kind) ?? this.#deps.customs.strategyOf(kind);
      if (!strategy) throw new Error(`no rules for ${kind.kind}`);
      registry = new Registry(strategy, this.#deps.world.store);
      this.#registries.set(kind, registry);
    }
    return registry;
  }

  /** Returns the registry for one request: of its own where a webhook converts the objects. */
  registryForRequest(kind: Kind): Registry {
    const strategy = kind.custom && this.#deps.customs.strategyForRequest(kind);
    return strategy ? new Registry(strategy, this.#deps.world.store) : this.registry(kind);
  }

  /** Answers a request on a stored kind. @throws {StatusError} */
  async handle(
    request: ApiRequest,
    response: ServerResponse,
    target: ResourcePath,
    kind: Kind,
  ): Promise<void> {
    const item = target.name !== '';
    const act = ownMember(item ? this.#ofItem : this.#ofCollection, request.method);
    if (!act || (!item && request.method === 'DELETE' && !kind.verbs.includes('deletecollection')))
      throw methodNotAllowed();
    const registry = this.registryForRequest(kind);
    await act({ request, response, target, kind, strategy: registry.strategy, registry });
  }
}
