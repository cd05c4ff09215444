import { ApiError } from '../../api/client.ts';
import { type BackOffOptions, reflectorBackOff } from '../../base/backoff.ts';
import { Informer } from '../../api/cache/informer.ts';
import type { ReflectorDeps } from '../../api/cache/reflector.ts';
import type { Resource } from '../../api/resources.ts';
import { AgentError } from '../../base/errors.ts';
import { namespaceOf, uidOf } from '../../kube/names.ts';
import type { KubeObject, Pod } from '../../kube/types.ts';

/** Time limit for the first state of an object, ms. */
const firstStateTimeoutMs = 10_000;

/** Retries start soon: the API server refuses access until it has learnt that the pod is on this node. */
const backOff: BackOffOptions = { ...reflectorBackOff, baseMs: 100 };

interface Entry<T extends KubeObject> {
  readonly users: Set<string>;
  readonly informer: Informer<T>;
  readonly stop: AbortController;
}

interface Held {
  readonly spec: Pod['spec'];
  readonly keys: ReadonlySet<string>;
}

/**
 * ObjectWatch watches the config maps or secrets that pods of this node refer to, each by name, which is all that a node may read.
 *
 * Follows kubelet's watch-based manager (`configMapAndSecretChangeDetectionStrategy: Watch`).
 */
export class ObjectWatch<T extends KubeObject> {
  readonly #deps: ReflectorDeps;
  readonly #resource: Resource;
  readonly #namesOf: (pod: Pod) => ReadonlySet<string>;
  readonly #entries = new Map<string, Entry<T>>();
  /** References of each registered pod, by UID. */
  readonly #registered = new Map<string, Held>();

  /** @param namesOf returns the objects of its own namespace that a pod refers to */
  constructor(deps: ReflectorDeps, resource: Resource, namesOf: (pod: Pod) => ReadonlySet<string>) {
    this.#deps = deps;
    this.#resource = resource;
    this.#namesOf = namesOf;
  }

  /** Starts watching the objects of a pod, and stops watching those that it no longer refers to. */
  register(pod: Pod): void {
    const uid = uidOf(pod);
    const previous = this.#registered.get(uid);
    if (previous && previous.spec === pod.spec) return;
    const names = this.#namesOf(pod);
    if (names.size === 0) {
      this.unregister(pod);
      return;
    }
    const keys = new Set(Array.from(names, (name) => `${namespaceOf(pod)}/${name}`));
    for (const key of keys) (this.#entries.get(key) ?? this.#watch(key)).users.add(uid);
    for (const key of previous?.keys ?? []) if (!keys.has(key)) this.#release(key, uid);
    this.#registered.set(uid, { spec: pod.spec, keys });
  }

  /** Stops watching the objects of a pod. */
  unregister(pod: Pod): void {
    const uid = uidOf(pod);
    for (const key of this.#registered.get(uid)?.keys ?? []) this.#release(key, uid);
    this.#registered.delete(uid);
  }

  /** Stops every watch. */
  stop(): void {
    for (const { stop } of this.#entries.values()) stop.abort();
    this.#entries.clear();
    this.#registered.clear();
  }

  /**
   * Returns the last observed state of an object.
   *
   * @throws {ApiError} 404 when it does not exist; {AgentError} `unavailable` when it was not received in time, `failed_precondition`
   *   when no registered pod refers to it
   */
  async get(namespace: string, name: string): Promise<T> {
    const key = `${namespace}/${name}`;
    const entry = this.#entries.get(key);
    if (!entry) throw new AgentError('failed_precondition', `object "${namespace}"/"${name}" not registered`);
    await this.#firstState(entry.informer);
    const found = entry.informer.store.get(key);
    if (found) return found;
    const message = `${this.#resource.kind.toLowerCase()} "${name}" not found`;
    throw new ApiError(404, { reason: 'NotFound', message });
  }

  async #firstState(informer: Informer<T>): Promise<void> {
    if (informer.synced) return;
    const deadline = new AbortController();
    const stop = this.#deps.clock.timer(firstStateTimeoutMs, () => {
      deadline.abort(
        new AgentError(
          'unavailable',
          `failed to sync ${this.#resource.kind.toLowerCase()} cache: timed out waiting for the condition`,
        ),
      );
    });
    try {
      await informer.waitSynced(deadline.signal);
    } finally {
      stop();
    }
  }

  #watch(key: string): Entry<T> {
    const [namespace = '', name = ''] = key.split('/');
    const informer = new Informer<T>(this.#deps, this.#resource, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
      backOff,
    });
    const entry: Entry<T> = { users: new Set(), informer, stop: new AbortController() };
    this.#entries.set(key, entry);
    void informer.run(entry.stop.signal);
    return entry;
  }

  #release(key: string, uid: string): void {
    const entry = this.#entries.get(key);
    if (!entry?.users.delete(uid) || entry.users.size > 0) return;
    entry.stop.abort();
    this.#entries.delete(key);
  }
}
