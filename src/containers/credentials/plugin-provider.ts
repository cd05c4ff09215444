import { ownMember } from '../../base/own.ts';
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { keyOf, namespaceOf, uidOf } from '../../kube/names.ts';
import { registryMatches } from '../../kube/registry-url.ts';
import type { KubeObject, Pod } from '../../kube/types.ts';
import type { PullCredential } from '../images/pull-credentials.ts';
import type { DockerConfig } from '../../kube/docker-config.ts';
import type { PluginRequest, PluginResponse } from './exec-plugin.ts';

/** Configuration of a plug-in; the kubelet's `CredentialProvider`. */
export interface PluginSettings {
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheMs: number;
  /** Service account token settings; absent: the plug-in gets no tokens. */
  readonly token?: {
    readonly audience: string;
    readonly cacheType: 'ServiceAccount' | 'Token';
    readonly requireServiceAccount: boolean;
    readonly requiredAnnotations: readonly string[];
    readonly optionalAnnotations: readonly string[];
  };
}

/** ServiceAccounts gives access to the service accounts of this node's pods. */
export interface ServiceAccounts {
  /** Returns the pod's service account. */
  get(pod: Pod): Promise<KubeObject>;
  /** Requests a token of the pod's service account, bound to the pod. */
  token(pod: Pod, wish: { readonly audience: string; readonly accountUid: string }): Promise<string>;
}

export interface PluginDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly serviceAccounts: ServiceAccounts;
  /** Runs the plug-in's program. */
  readonly exec: (request: PluginRequest) => Promise<PluginResponse>;
}

/** Credentials from a plug-in for one pod, and the service account whose token was used. */
export interface Provided {
  readonly config: DockerConfig;
  readonly source?: PullCredential['source'];
}

interface Account {
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Separates cached responses of one account or token from those of others. */
  readonly cacheKey: string;
  readonly source: NonNullable<PullCredential['source']>;
}

const none: Provided = { config: {} };
/** Interval between removals of expired responses, ms. */
const purgePeriodMs = 15 * 60_000;

/**
 * PluginProvider runs one plug-in and caches its responses until they expire. Failures are logged, and the pull goes on without
 * credentials.
 * Follows `pluginProvider` (pkg/credentialprovider/plugin).
 */
export class PluginProvider {
  readonly #settings: PluginSettings;
  readonly #deps: PluginDeps;
  readonly #cache = new Map<string, { readonly config: DockerConfig; readonly expiresAt: number }>();
  readonly #running = new Map<string, Promise<PluginResponse>>();
  #purgedAt: number;

  constructor(settings: PluginSettings, deps: PluginDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#purgedAt = deps.clock.now();
  }

  /** Returns the credentials for an image. @param image name without tag and digest */
  async provide(image: string, pod: Pod): Promise<Provided> {
    if (!this.#settings.matchImages.some((pattern) => registryMatches(pattern, image))) return none;
    try {
      const account = await this.#account(pod);
      return account === 'skip' ? none : await this.#provide(image, account);
    } catch (err) {
      this.#deps.logger.error('image credential provider plug-in failed', {
        plugin: this.#settings.name,
        pod: keyOf(pod),
        image,
        err: messageOf(err),
      });
      return none;
    }
  }

  async #provide(image: string, account: Account | undefined): Promise<Provided> {
    const source = account && { source: account.source };
    const cached = this.#cached(image, account?.cacheKey ?? '');
    if (cached) return { config: cached, ...source };
    const response = await this.#once(image, account);
    this.#refuseEcho(response, account);
    const config = Object.fromEntries(
      Object.entries(response.auth).map(([registry, auth]) => [registry, { ...auth, email: '' }]),
    );
    this.#keep(image, account, response, config);
    return { config, ...source };
  }

  /** Returns the pod's account and token; `skip` when the plug-in does not apply to the pod, `undefined` when it takes no tokens. */
  async #account(pod: Pod): Promise<Account | 'skip' | undefined> {
    const { token: tokenSettings } = this.#settings;
    if (!tokenSettings) return undefined;
    const name = pod.spec?.serviceAccountName ?? '';
    if (name === '') return tokenSettings.requireServiceAccount ? 'skip' : undefined;
    const account = await this.#deps.serviceAccounts.get(pod);
    const present = account.metadata?.annotations ?? {};
    if (tokenSettings.requiredAnnotations.some((key) => ownMember(present, key) === undefined)) return 'skip';
    const keys = [...tokenSettings.requiredAnnotations, ...tokenSettings.optionalAnnotations];
    const annotations = Object.fromEntries(
      keys.flatMap((key) => {
        const value = ownMember(present, key);
        return value === undefined ? [] : [[key, value] as const];
      }),
    );
    const uid = uidOf(account);
    const token = await this.#deps.serviceAccounts.token(pod, {
      audience: tokenSettings.audience,
      accountUid: uid,
    });
    const namespace = namespaceOf(pod);
    const sorted = Object.entries(annotations).sort(([a], [b]) => (a < b ? -1 : 1));
    const perToken = tokenSettings.cacheType === 'Token' ? [uidOf(pod), hashOf(token)] : [];
    return {
      token,
      annotations,
      cacheKey: JSON.stringify([namespace, name, uid, sorted, ...perToken]),
      source: { serviceAccount: { uid, namespace, name } },
    };
  }

  /** Concurrent equal requests share one run of the plug-in. */
  #once(image: string, account: Account | undefined): Promise<PluginResponse> {
    const key = JSON.stringify([image, hashOf(account?.token ?? ''), account?.annotations ?? {}]);
    const running = this.#running.get(key);
    if (running) return running;
    const annotations = account?.annotations ?? {};
    const started = this.#deps
      .exec({
        image,
        ...(account && { serviceAccountToken: account.token }),
        ...(Object.keys(annotations).length > 0 && { serviceAccountAnnotations: annotations }),
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  #refuseEcho({ auth }: PluginResponse, account: Account | undefined): void {
    if (!account || this.#settings.token?.cacheType === 'Token') return;
    if (Object.values(auth).some(({ password }) => password === account.token))
      throw new Error(
        "it returned the service account token as the password, which is not allowed when service account cache type is not set to 'Token'",
      );
  }

  #keep(
    image: string,
    account: Account | undefined,
    { cacheKeyType, cacheMs = this.#settings.defaultCacheMs }: PluginResponse,
    config: DockerConfig,
  ): void {
    const keys: Readonly<Record<string, string>> = {
      Image: image,
      Registry: registryOf(image),
      Global: globalKey,
    };
    const key = keys[cacheKeyType];
    if (key === undefined)
      throw new Error(`it did not return a valid cacheKeyType: ${JSON.stringify(cacheKeyType)}`);
    if (cacheMs === 0) return;
    this.#cache.set(cacheKeyOf(key, account?.cacheKey ?? ''), {
      config,
      expiresAt: this.#deps.clock.now() + cacheMs,
    });
  }

  #cached(image: string, accountKey: string): DockerConfig | undefined {
    const now = this.#deps.clock.now();
    if (now > this.#purgedAt + purgePeriodMs) {
      for (const [key, { expiresAt }] of this.#cache) if (now > expiresAt) this.#cache.delete(key);
      this.#purgedAt = now;
    }
    for (const key of [image, registryOf(image), globalKey]) {
      const found = this.#cache.get(cacheKeyOf(key, accountKey));
      if (found && now <= found.expiresAt) return found.config;
    }
    return undefined;
  }
}

const globalKey = 'global';
const cacheKeyOf = (key: string, accountKey: string): string => JSON.stringify([key, accountKey]);
const registryOf = (image: string): string => image.split('/')[0] ?? '';
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
