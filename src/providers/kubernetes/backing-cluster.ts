import type { ApiClient } from '../../api/client.ts';
import { Informer } from '../../api/cache/informer.ts';
import { eventResource, podResource } from '../../api/resources.ts';
import { untilAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { Emitter } from '../../base/emitter.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Event, Pod } from '../../kube/types.ts';

export interface BackingClusterDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The namespaces to watch; undefined: all. */
  readonly namespaces: readonly string[] | undefined;
  /** Selects this node's backing pods. */
  readonly selector: string;
  readonly seen: (pod: Pod) => void;
  readonly deleted: (last: Pod) => void;
  /** Called with each event about a pod. @param initial whether it existed before the watch */
  readonly event: (event: Event, initial: boolean) => void;
}

/** BackingCluster watches the backing pods of this node and the events about them, and knows whether the cluster answers. */
export class BackingCluster {
  readonly #deps: BackingClusterDeps;
  readonly #pods: readonly Informer<Pod>[];
  readonly #events: readonly Informer<Event>[];
  readonly #synced: Promise<unknown>;
  readonly #failures = new Emitter<{ failed: [] }>();
  readonly #stop = new AbortController();
  #isSynced = false;
  #started = false;

  constructor(deps: BackingClusterDeps) {
    this.#deps = deps;
    const scopes = (deps.namespaces ?? [undefined]).map((namespace) =>
      namespace === undefined ? {} : { namespace },
    );
    const onFailure = (): void => {
      this.#failures.emit('failed');
    };
    this.#pods = scopes.map(
      (scope) => new Informer<Pod>(deps, podResource, { ...scope, labelSelector: deps.selector, onFailure }),
    );
    this.#events = scopes.map(
      (scope) =>
        new Informer<Event>(deps, eventResource, { ...scope, fieldSelector: 'involvedObject.kind=Pod' }),
    );
    const registrations = this.#pods.map((informer) =>
      informer.addHandler({
        added: (pod) => {
          deps.seen(pod);
        },
        updated: (_old, pod) => {
          deps.seen(pod);
        },
        deleted: (last) => {
          deps.deleted(last);
        },
      }),
    );
    this.#synced = Promise.all(registrations.map((one) => one.waitSynced(this.#stop.signal))).then(() => {
      this.#isSynced = true;
    });
    this.#synced.catch(() => undefined);
    for (const informer of this.#events)
      informer.addHandler({
        added: (event, initial) => {
          deps.event(event, initial);
        },
        updated: (_old, event) => {
          deps.event(event, false);
        },
      });
  }

  /**
   * Resolves once this node's backing pods are known and their watch works.
   *
   * @throws {AgentError} `unavailable` while the backing cluster does not answer
   */
  async ready(signal: AbortSignal = this.#stop.signal): Promise<void> {
    this.#start();
    this.#throwFailure();
    if (this.#isSynced) return;
    const failed = Promise.withResolvers<undefined>();
    const off = this.#failures.on('failed', () => {
      failed.resolve(undefined);
    });
    try {
      await untilAborted(Promise.race([this.#synced, failed.promise]), signal);
    } finally {
      off();
    }
    this.#throwFailure();
  }

  /** Ends all watches. */
  close(): void {
    this.#stop.abort();
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    for (const informer of [...this.#pods, ...this.#events])
      informer.run(this.#stop.signal).catch((reason: unknown) => {
        this.#deps.logger.error('watch of the backing cluster ended', { err: messageOf(reason) });
      });
  }

  #throwFailure(): void {
    if (this.#stop.signal.aborted) throw new AgentError('unavailable', 'the provider is closed');
    const failure = this.#pods.map(({ lastFailure }) => lastFailure).find((reason) => reason !== undefined);
    if (failure === undefined) return;
    throw new AgentError('unavailable', `backing cluster: ${messageOf(failure)}`, { cause: failure });
  }
}
