import { type ApiClient, isUnrelated } from '../../api/client.ts';
import { serviceAccountResource } from '../../api/resources.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { goQuote } from '../../go/go-quote.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { KubeObject, Pod } from '../../kube/types.ts';

/** Maximum time before a token is renewed, ms, whatever its validity. */
const longestUseMs = 24 * 3600 * 1000;

/** Fraction of a token's lifetime after which it is renewed. */
const renewAt = 0.8;

/** Maximum random reduction of the renewal time, ms, so that not all pods renew at once. */
const spreadMs = 10_000;

/** Maximum number of requests, and the pause between them in ms, while the API server does not know yet that the pod is on this node. */
const mostTries = 5;
const pauseMs = 100;

interface TokenRequest extends KubeObject {
  readonly spec: {
    readonly audiences: readonly string[];
    readonly expirationSeconds?: number;
    readonly boundObjectRef: {
      readonly kind: string;
      readonly apiVersion: string;
      readonly name: string;
      readonly uid: string;
    };
  };
  readonly status?: { readonly token: string; readonly expirationTimestamp: string };
}

interface Cached {
  readonly token: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export interface TokenWish {
  readonly audience?: string;
  readonly expirationSeconds?: number;
  /** UID that the service account must still have. */
  readonly accountUid?: string;
}

/**
 * TokenManager requests and renews tokens of pods' service accounts, each bound to its pod.
 *
 * Follows kubelet `token.Manager`.
 */
export class TokenManager {
  readonly #api: Pick<ApiClient, 'create'>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #tokens = new Map<string, Cached>();

  constructor(api: Pick<ApiClient, 'create'>, clock: Clock, random: Random) {
    this.#api = api;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Returns a token for the pod. While renewal fails, the previous token is returned until it expires.
   *
   * @throws {AgentError} with the server's error when there is no valid token
   */
  async get(pod: Pod, wish: TokenWish): Promise<string> {
    const key = [
      uidOf(pod),
      pod.spec?.serviceAccountName,
      wish.audience ?? '',
      wish.expirationSeconds ?? '',
      wish.accountUid ?? '',
    ].join('|');
    const cached = this.#tokens.get(key);
    if (cached && !this.#isStale(cached)) return cached.token;
    try {
      const fresh = await this.#requestPatiently(pod, wish);
      this.#tokens.set(key, fresh);
      return fresh.token;
    } catch (cause) {
      if (cached && cached.expiresAt > this.#clock.now()) return cached.token;
      const what = cached ? `token ${textOf(pod, wish)} expired and refresh failed` : 'failed to fetch token';
      throw new AgentError(AgentError.from(cause).code, `${what}: ${messageOf(cause)}`, { cause });
    }
  }

  /** Removes the tokens of a pod that has ended. */
  forget(uid: string): void {
    for (const key of this.#tokens.keys()) if (key.startsWith(`${uid}|`)) this.#tokens.delete(key);
  }

  #isStale({ issuedAt, expiresAt }: Cached): boolean {
    const ageMs = this.#clock.now() - issuedAt + this.#random.float() * spreadMs;
    return ageMs > Math.min(longestUseMs, (expiresAt - issuedAt) * renewAt);
  }

  /** Requests a token with retries: the server's node authorizer may learn of the pod a moment later than this node. */
  async #requestPatiently(pod: Pod, wish: TokenWish): Promise<Cached> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#request(pod, wish);
      } catch (reason) {
        if (!isUnrelated(reason) || tries === mostTries) throw reason;
        await this.#clock.sleep(pauseMs);
      }
    }
  }

  async #request(pod: Pod, { audience, expirationSeconds, accountUid }: TokenWish): Promise<Cached> {
    const issuedAt = this.#clock.now();
    const request: TokenRequest = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { namespace: namespaceOf(pod), ...(accountUid !== undefined && { uid: accountUid }) },
      spec: {
        audiences: audience === undefined ? [] : [audience],
        ...(expirationSeconds !== undefined && { expirationSeconds }),
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: nameOf(pod), uid: uidOf(pod) },
      },
    };
    const { status } = await this.#api.create<TokenRequest>(serviceAccountResource, request, {
      name: accountOf(pod),
      subresource: 'token',
    });
    return {
      token: status?.token ?? '',
      issuedAt,
      expiresAt: Date.parse(status?.expirationTimestamp ?? '') || issuedAt,
    };
  }
}

/** Formats a token for error messages as the kubelet does, values as Go writes them. Follows `keyFunc`. */
function textOf(pod: Pod, { audience, expirationSeconds = 0, accountUid = '' }: TokenWish): string {
  const audiences = audience === undefined ? '[]string(nil)' : `[]string{${goQuote(audience)}}`;
  const bound = `v1.BoundObjectReference{Kind:"Pod", APIVersion:"v1", Name:${goQuote(nameOf(pod))}, UID:${goQuote(uidOf(pod))}}`;
  const [account, namespace] = [accountOf(pod), namespaceOf(pod)].map(goQuote);
  return [account, namespace, audiences, expirationSeconds, bound, goQuote(accountUid)].join('/');
}

const accountOf = (pod: Pod): string => pod.spec?.serviceAccountName ?? 'default';
