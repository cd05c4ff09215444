import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { ApiClient } from '../../api/client.ts';
import type { Resource } from '../../api/resources.ts';
import { type Clock, steadyNow } from '../../base/clock.ts';
import type { KubeObject } from '../../kube/types.ts';

const tokenReviews: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};
const accessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}
interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string };
  readonly status?: { readonly authenticated?: boolean; readonly user?: User };
}
interface AccessReview extends KubeObject {
  readonly spec: {
    readonly user?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: User['extra'];
    readonly nonResourceAttributes: { readonly path: string; readonly verb: string };
  };
  readonly status?: { readonly allowed?: boolean };
}

/** The result of a check: the HTTP status and its text; 200 lets the request pass. */
export type Verdict = { readonly status: 200 } | { readonly status: 401 | 403 | 500; readonly text: string };

const reviewMs = 10_000;
/** How long results are remembered, ms, as controller-runtime's filter does. */
const times = { token: 60_000, allowed: 300_000, denied: 30_000 };
const maxRemembered = 1024;
const longestToken = 64 * 1024;

interface Remembered<Value> {
  readonly value: Value;
  readonly until: number;
}

/**
 * AccessFilter lets requests pass whose bearer token the API server knows (TokenReview) and whose user may get the path
 * (SubjectAccessReview). After controller-runtime's `filters.WithAuthenticationAndAuthorization`.
 */
export class AccessFilter {
  readonly #client: ApiClient;
  readonly #clock: Clock;
  readonly #users = new LRUCache<string, Remembered<User | 'refused'>>({ max: maxRemembered });
  readonly #verdicts = new LRUCache<string, Remembered<boolean>>({ max: maxRemembered });

  constructor(client: ApiClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  async check(request: IncomingMessage): Promise<Verdict> {
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined || token.length > longestToken) return { status: 401, text: 'Unauthorized\n' };
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const verb = (request.method ?? 'GET').toLowerCase();
    try {
      // tokens are not stored
      const key = createHash('sha256').update(token).digest('base64');
      const user = await this.#user(key, token);
      if (user === 'refused') return { status: 401, text: 'Unauthorized\n' };
      if (await this.#mayAccess(key, user, { path, verb })) return { status: 200 };
      return {
        status: 403,
        text: `Authorization denied for user ${user.username ?? ''}\n`,
      };
    } catch {
      return { status: 500, text: 'Authentication failed\n' };
    }
  }

  async #user(key: string, token: string): Promise<User | 'refused'> {
    return await this.#remember(this.#users, key, async () => {
      const review = await this.#client.create<TokenReview>(
        tokenReviews,
        { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
        { timeoutMs: reviewMs },
      );
      const { authenticated = false, user } = review.status ?? {};
      const value: User | 'refused' = authenticated && user ? user : 'refused';
      return { value, ms: times.token };
    });
  }

  async #mayAccess(
    key: string,
    { username, uid, groups, extra }: User,
    attributes: { readonly path: string; readonly verb: string },
  ): Promise<boolean> {
    return await this.#remember(this.#verdicts, `${key} ${attributes.verb} ${attributes.path}`, async () => {
      const review = await this.#client.create<AccessReview>(
        accessReviews,
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: {
            ...(username !== undefined && { user: username }),
            ...(uid !== undefined && { uid }),
            ...(groups && { groups }),
            ...(extra && { extra }),
            nonResourceAttributes: attributes,
          },
        },
        { timeoutMs: reviewMs },
      );
      const value = review.status?.allowed === true;
      return { value, ms: value ? times.allowed : times.denied };
    });
  }

  async #remember<Value extends object | string | boolean>(
    cache: LRUCache<string, Remembered<Value>>,
    key: string,
    ask: () => Promise<{ readonly value: Value; readonly ms: number }>,
  ): Promise<Value> {
    const now = steadyNow(this.#clock);
    const found = cache.get(key);
    if (found && found.until > now) return found.value;
    const { value, ms } = await ask();
    cache.set(key, { value, until: now + ms });
    return value;
  }
}
