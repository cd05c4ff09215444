import { AgentError } from '../base/errors.ts';
import { Controller, type ControllerOptions } from './controller/controller.ts';
import { enqueueRequestForObject, enqueueRequestForOwner, type EventHandler } from './handler/handler.ts';
import type { Manager } from './manager/manager.ts';
import type { Predicate } from './predicate/predicate.ts';
import type { Reconciler } from './reconcile.ts';
import { kindSource } from './source/kind-source.ts';
import type { Source } from './source/source.ts';
import type { Kind, KubeObject } from './types.ts';

/** Options of a kind that a controller watches. */
export interface ForOptions<T extends KubeObject> {
  /** All of them must let an event pass. */
  readonly predicates?: readonly Predicate<T>[];
  /** Caches the metadata only. */
  readonly metadataOnly?: boolean;
}

/** Options of a kind that a controller's objects own. */
export interface OwnsOptions<T extends KubeObject> extends ForOptions<T> {
  /** Reconciles every owner of that kind, not only the controller. */
  readonly matchEveryOwner?: boolean;
}

/** Builder puts a controller together. */
export interface Builder {
  /** The kind that is reconciled; its name in lower case is the controller's. May be called once. */
  for<T extends KubeObject>(kind: Kind<T>, options?: ForOptions<T>): Builder;
  /** Events of objects of this kind reconcile the object that controls them. */
  owns<T extends KubeObject>(kind: Kind<T>, options?: OwnsOptions<T>): Builder;
  /** Events of objects of this kind reconcile what the handler says. */
  watches<T extends KubeObject>(kind: Kind<T>, handler: EventHandler<T>, options?: ForOptions<T>): Builder;
  /** Adds a source, which has its own handler and predicates. */
  watchesRawSource(source: Source): Builder;
  /** Only events that the predicate lets pass count, for all kinds; several must all let an event pass. */
  withEventFilter(predicate: Predicate): Builder;
  withOptions(options: ControllerOptions): Builder;
  /** Sets the name of the controller; it must be unique in the manager. */
  named(name: string): Builder;
  /** Adds the controller to the manager. @throws {AgentError} `invalid_argument` for an incomplete or contradictory description */
  complete(reconciler: Reconciler | Reconciler['reconcile']): Controller;
}

/**
 * Returns a builder of a controller that runs in a manager.
 *
 * @example
 * controllerManagedBy(manager).for(kinds.ReplicaSet).owns(kinds.Pod).complete(reconcile);
 */
export const controllerManagedBy = (manager: Manager): Builder => new ControllerBuilder(manager);

/**
 * Returns a controller without sources, which is added to the manager; add sources with `watch`.
 *
 * @throws when the name is taken
 *
 * @example
 * const controller = newController('rooms', manager, { reconciler: reconcile, maxConcurrentReconciles: 4 });
 */
export function newController(
  name: string,
  manager: Manager,
  options: ControllerOptions & {
    readonly reconciler: Reconciler | Reconciler['reconcile'];
    /** The kind that is reconciled, for logs. */
    readonly kind?: Kind;
  },
): Controller {
  const { reconciler, kind, ...own } = options;
  if (name === '') throw new AgentError('invalid_argument', 'must specify Name for Controller');
  if ((reconciler as typeof reconciler | undefined) === undefined)
    throw new AgentError('invalid_argument', 'must specify Reconciler');
  const { defaults, clock, random, logger, tracer, register } = manager.host;
  const merged = { ...defaults, ...own };
  const metrics = register(name, {
    workers: merged.maxConcurrentReconciles ?? 1,
    usePriority: merged.usePriorityQueue ?? true,
    skipNameValidation: merged.skipNameValidation ?? false,
  });
  const controller = new Controller({
    ...{ name, clock: merged.clock ?? clock, random, logger, tracer, metrics },
    reconciler: typeof reconciler === 'function' ? { reconcile: reconciler } : reconciler,
    options: merged,
    ...(kind && { fields: { controllerGroup: kind.group, controllerKind: kind.kind, kind: kind.kind } }),
  });
  manager.add(controller);
  return controller;
}

interface Watch {
  readonly source: (filters: readonly Predicate[]) => Source;
}

class ControllerBuilder implements Builder {
  readonly #manager: Manager;
  #kind: Kind | undefined;
  #name: string | undefined;
  #options: ControllerOptions = {};
  readonly #filters: Predicate[] = [];
  readonly #watches: Watch[] = [];
  readonly #owned: { readonly kind: Kind; readonly options: OwnsOptions<never> }[] = [];

  constructor(manager: Manager) {
    if ((manager as Manager | undefined) === undefined)
      throw new AgentError('invalid_argument', 'must provide a non-nil Manager');
    this.#manager = manager;
  }

  for<T extends KubeObject>(kind: Kind<T>, options: ForOptions<T> = {}): Builder {
    if (this.#kind)
      throw new AgentError(
        'invalid_argument',
        `for(${kind.kind}): for() should only be called once, could not assign multiple kinds for reconciliation`,
      );
    this.#kind = kind;
    return this.watches(kind, enqueueRequestForObject, options);
  }

  owns<T extends KubeObject>(kind: Kind<T>, options: OwnsOptions<T> = {}): Builder {
    this.#owned.push({ kind, options: options });
    return this;
  }

  watches<T extends KubeObject>(
    kind: Kind<T>,
    handler: EventHandler<T>,
    options: ForOptions<T> = {},
  ): Builder {
    const { predicates = [], metadataOnly = false } = options;
    this.#watches.push({
      source: (filters) =>
        kindSource(this.#manager.cache, kind, handler, {
          predicates: [...filters, ...predicates],
          metadataOnly,
        }),
    });
    return this;
  }

  watchesRawSource(source: Source): Builder {
    this.#watches.push({ source: () => source });
    return this;
  }

  withEventFilter(predicate: Predicate): Builder {
    this.#filters.push(predicate);
    return this;
  }

  withOptions(options: ControllerOptions): Builder {
    this.#options = { ...this.#options, ...options };
    return this;
  }

  named(name: string): Builder {
    this.#name = name;
    return this;
  }

  complete(reconciler: Reconciler | Reconciler['reconcile']): Controller {
    if ((reconciler as Reconciler | undefined) === undefined)
      throw new AgentError('invalid_argument', 'must provide a non-nil Reconciler');
    const name = this.#name ?? this.#kind?.kind.toLowerCase();
    if (name === undefined || name === '')
      throw new AgentError('invalid_argument', 'controller must have a name: call named(), or for()');
    this.#addOwned();
    if (this.#watches.length === 0)
      throw new AgentError(
        'invalid_argument',
        'there are no watches configured, controller will never get triggered. Use for(), owns(), watches() or watchesRawSource() to set them up',
      );
    const controller = newController(name, this.#manager, {
      ...this.#options,
      reconciler,
      ...(this.#kind && { kind: this.#kind }),
    });
    // a controller that has not started only notes its sources
    for (const { source } of this.#watches) void controller.watch(source(this.#filters));
    return controller;
  }

  #addOwned(): void {
    const owner = this.#kind;
    if (this.#owned.length > 0 && !owner)
      throw new AgentError('invalid_argument', 'owns() can only be used together with for()');
    if (!owner) return;
    for (const { kind, options } of this.#owned.splice(0))
      this.watches(
        kind,
        enqueueRequestForOwner(owner, { onlyController: !(options.matchEveryOwner ?? false) }),
        options,
      );
  }
}
