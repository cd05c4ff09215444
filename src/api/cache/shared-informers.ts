import type { KubeObject } from '../../kube/types.ts';
import { Informer, type InformerOptions } from './informer.ts';
import type { ReflectorDeps } from './reflector.ts';
import type { Resource } from '../resources.ts';

/**
 * SharedInformers returns one informer for each kind and selection, however many callers request it (client-go `SharedInformerFactory`).
 *
 * @example
 * const informers = new SharedInformers({ client, clock });
 * const pods = informers.informer<Pod>(podResource);
 * informers.start(signal);
 * await informers.waitSynced(signal);
 */
export class SharedInformers {
  readonly #deps: ReflectorDeps;
  readonly #defaults: Pick<
    InformerOptions<KubeObject>,
    'freeze' | 'streamingList' | 'pageSize' | 'idleTimeoutMs'
  >;
  readonly #informers = new Map<string, Informer<KubeObject>>();
  #signal: AbortSignal | undefined;

  /** @param defaults for informers whose first caller does not set them */
  constructor(
    deps: ReflectorDeps,
    defaults: Pick<
      InformerOptions<KubeObject>,
      'freeze' | 'streamingList' | 'pageSize' | 'idleTimeoutMs'
    > = {},
  ) {
    this.#deps = deps;
    this.#defaults = defaults;
  }

  /**
   * Returns the informer of a kind within a namespace and selectors. The first caller sets indexers and transform. After {@link start}, a
   * new informer starts by itself.
   */
  informer<T extends KubeObject>(resource: Resource, options: InformerOptions<T> = {}): Informer<T> {
    const { namespace = '', labelSelector = '', fieldSelector = '' } = options;
    const key = [
      resource.group,
      resource.version,
      resource.resource,
      namespace,
      labelSelector,
      fieldSelector,
    ].join('|');
    const existing = this.#informers.get(key);
    if (existing) return existing as unknown as Informer<T>;
    const informer = new Informer<T>(this.#deps, resource, {
      ...(this.#defaults as InformerOptions<T>),
      ...options,
    });
    this.#informers.set(key, informer as unknown as Informer<KubeObject>);
    if (this.#signal) void informer.run(this.#signal);
    return informer;
  }

  /** Starts every informer, including later ones; they end with `signal`. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const informer of this.#informers.values()) void informer.run(signal);
  }

  /** Resolves when every existing informer has its first list. */
  async waitSynced(signal?: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.waitSynced(signal)));
  }
}
