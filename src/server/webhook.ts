import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Access, Authenticator, Authorizer, User } from './access.ts';
import { withAuthenticated } from './access.ts';
import { TtlCache } from './ttl-cache.ts';

/** Client for the API server's TokenReviews and SubjectAccessReviews. */
export interface Reviews {
  /** The status of a TokenReview. */
  tokenReview(token: string): Promise<TokenReviewStatus>;
  /** The status of a SubjectAccessReview. */
  subjectAccessReview(spec: SubjectAccessReviewSpec): Promise<{ readonly allowed?: boolean }>;
}

export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: {
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

export interface SubjectAccessReviewSpec {
  readonly resourceAttributes: {
    readonly verb?: string;
    readonly version: 'v1';
    readonly resource: 'nodes';
    readonly subresource: string;
    readonly name: string;
  };
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** How long reviews are cached, ms; the defaults are the kubelet's. */
export interface WebhookTimes {
  /** `authentication.webhook.cacheTTL` */
  readonly tokenMs: number;
  /** `authorization.webhook.cacheAuthorizedTTL` */
  readonly allowedMs: number;
  /** `authorization.webhook.cacheUnauthorizedTTL` */
  readonly deniedMs: number;
}

export const webhookTimes: WebhookTimes = { tokenMs: 120_000, allowedMs: 300_000, deniedMs: 30_000 };

interface WebhookDeps {
  readonly clock: Clock;
  readonly reviews: Reviews;
  readonly times?: Partial<WebhookTimes>;
}

const longestToken = 64 * 1024;

/**
 * Authenticates bearer tokens by TokenReview and caches the result under a hash: tokens are not stored.
 *
 * @example
 * const authenticators = [certificateAuthenticator, tokenAuthenticator({ clock, reviews: apiReviews(client) })];
 */
export function tokenAuthenticator({ clock, reviews, times }: WebhookDeps): Authenticator {
  const cache = new TtlCache<User | 'refused'>(clock);
  const { tokenMs } = { ...webhookTimes, ...times };
  const key = randomBytes(32);
  return {
    authenticate: ({ headers }) => {
      const token = /^bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? '')?.[1];
      if (token === undefined) return Promise.resolve(undefined);
      if (token.length > longestToken) return Promise.resolve('refused');
      const hash = createHmac('sha256', key).update(token).digest('base64');
      return cache.get(
        hash,
        async () => userOf(await reviews.tokenReview(token)),
        () => tokenMs,
      );
    },
  };
}

function userOf({ authenticated, user }: TokenReviewStatus): User | 'refused' {
  if (authenticated !== true || user?.username === undefined) return 'refused';
  return {
    name: user.username,
    groups: withAuthenticated(user.groups ?? []),
    ...(user.uid !== undefined && { uid: user.uid }),
    ...(user.extra && { extra: user.extra }),
  };
}

/** Returns the SubjectAccessReview of an access. */
export function reviewOf({ user, verb, subresource, nodeName }: Access): SubjectAccessReviewSpec {
  return {
    resourceAttributes: {
      ...(verb !== '' && { verb }),
      version: 'v1',
      resource: 'nodes',
      subresource,
      name: nodeName,
    },
    user: user.name,
    groups: user.groups,
    ...(user.uid !== undefined && { uid: user.uid }),
    ...(user.extra && { extra: user.extra }),
  };
}

/**
 * Authorizes by SubjectAccessReview and caches the result.
 *
 * @example
 * const authorizer = webhookAuthorizer({ clock, reviews: apiReviews(client) });
 */
export function webhookAuthorizer({ clock, reviews, times }: WebhookDeps): Authorizer {
  const cache = new TtlCache<boolean>(clock);
  const { allowedMs, deniedMs } = { ...webhookTimes, ...times };
  return {
    authorize: (access) => {
      const spec = reviewOf(access);
      return cache.get(
        JSON.stringify(spec),
        async () => (await reviews.subjectAccessReview(spec)).allowed === true,
        (allowed) => (allowed ? allowedMs : deniedMs),
      );
    },
  };
}
