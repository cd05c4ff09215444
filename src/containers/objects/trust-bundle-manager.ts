import { ApiError } from '../../api/client.ts';
import { Informer } from '../../api/cache/informer.ts';
import type { ReflectorDeps } from '../../api/cache/reflector.ts';
import type { Resource } from '../../api/resources.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { type ClusterTrustBundle, trustAnchors, type TrustBundleSource } from '../volumes/trust-bundle.ts';

/** Versions that a server may have them in, the newest first. */
const versions = ['v1', 'v1beta1', 'v1alpha1'] as const;

/** How long whoever asks first waits for the first list, ms. */
const firstListTimeoutMs = 10_000;

const resourceOf = (version: string): Resource => ({
  group: 'certificates.k8s.io',
  version,
  resource: 'clustertrustbundles',
  kind: 'ClusterTrustBundle',
  namespaced: false,
});

type Watched = Informer<ClusterTrustBundle> | 'not served';

/**
 * The cluster's trust bundles, watched from the moment a pod first asks for one.
 *
 * Follows kubelet `clustertrustbundle.LazyInformerManager`: which version the server has is found out once.
 */
export class TrustBundles {
  readonly #deps: ReflectorDeps;
  readonly #salt: string;
  readonly #stop = new AbortController();
  #watched: Promise<Watched> | undefined;

  constructor(deps: ReflectorDeps & { readonly random: Random }) {
    this.#deps = deps;
    this.#salt = deps.random.hex(16);
  }

  /**
   * The PEM of the trust anchors that a source selects.
   *
   * @throws {AgentError} `not_found` there are none; `unimplemented` the server has no trust bundles; `unavailable` it has not told them yet
   */
  async get(source: TrustBundleSource): Promise<string> {
    const watched = await this.#ensure();
    if (watched === 'not served') throw notSupported();
    if (!watched.synced)
      throw new AgentError('unavailable', 'ClusterTrustBundle informer has not yet synced');
    return trustAnchors(watched.store.list(), source, this.#salt);
  }

  /** Ends the watch. */
  stop(): void {
    this.#stop.abort();
  }

  async #ensure(): Promise<Watched> {
    this.#watched ??= this.#begin();
    try {
      return await this.#watched;
    } catch (reason) {
      this.#watched = undefined; // the next one who asks tries again
      const message = `failed to ensure informer manager for ClusterTrustBundles: ${messageOf(reason)}`;
      throw new AgentError('unavailable', message, { cause: reason });
    }
  }

  async #begin(): Promise<Watched> {
    for (const version of versions) if (await this.#isServed(version)) return this.#watch(version);
    return 'not served';
  }

  /** A node may not even ask where the cluster does not have them. */
  async #isServed(version: string): Promise<boolean> {
    try {
      await this.#deps.client.list(resourceOf(version), { limit: 1 });
      return true;
    } catch (reason) {
      if (reason instanceof ApiError && [403, 404].includes(reason.status)) return false;
      throw reason;
    }
  }

  async #watch(version: string): Promise<Watched> {
    const informer = new Informer<ClusterTrustBundle>(this.#deps, resourceOf(version));
    void informer.run(this.#stop.signal);
    const deadline = new AbortController();
    const clear = this.#deps.clock.timer(firstListTimeoutMs, () => {
      deadline.abort();
    });
    await informer.waitSynced(deadline.signal).catch(() => undefined);
    clear();
    return informer;
  }
}

/** What the kubelet says without an API server, with the feature off, and with a server that does not have it. */
export const notSupported = (): AgentError =>
  new AgentError('unimplemented', 'ClusterTrustBundle projection is not supported in static kubelet mode');
