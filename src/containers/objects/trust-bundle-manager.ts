import { ApiError } from '../../api/client.ts';
import { Informer } from '../../api/cache/informer.ts';
import type { ReflectorDeps } from '../../api/cache/reflector.ts';
import type { Resource } from '../../api/resources.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { type ClusterTrustBundle, trustAnchors, type TrustBundleSource } from '../volumes/trust-bundle.ts';

/** API versions to try, newest first. */
const versions = ['v1', 'v1beta1', 'v1alpha1'] as const;

/** Time limit of the first list, ms. */
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
 * TrustBundles watches the cluster's trust bundles from the first request on.
 *
 * Follows kubelet `clustertrustbundle.LazyInformerManager`: the served version is determined once.
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
   * Returns the trust anchors that a source selects, as PEM.
   *
   * @throws {AgentError} `not_found` when there are none; `unimplemented` when the server has no trust bundles; `unavailable` before they
   * are listed
   */
  async get(source: TrustBundleSource): Promise<string> {
    const watched = await this.#ensure();
    if (watched === 'not served') throw notSupported();
    if (!watched.synced)
      throw new AgentError('unavailable', 'ClusterTrustBundle informer has not yet synced');
    return trustAnchors(watched.store.list(), source, this.#salt);
  }

  /** Stops the watch. */
  stop(): void {
    this.#stop.abort();
  }

  async #ensure(): Promise<Watched> {
    this.#watched ??= this.#begin();
    try {
      return await this.#watched;
    } catch (reason) {
      this.#watched = undefined; // the next call tries again
      const message = `failed to ensure informer manager for ClusterTrustBundles: ${messageOf(reason)}`;
      throw new AgentError('unavailable', message, { cause: reason });
    }
  }

  async #begin(): Promise<Watched> {
    for (const version of versions) if (await this.#isServed(version)) return this.#watch(version);
    return 'not served';
  }

  /** True when the server has the version; a node may be forbidden to list bundles where it does not. */
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

/** Returns the kubelet's error without an API server, with the feature off, or when the server does not have the API. */
export const notSupported = (): AgentError =>
  new AgentError('unimplemented', 'ClusterTrustBundle projection is not supported in static kubelet mode');
