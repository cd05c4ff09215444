import type { Clock } from '../base/clock.ts';
import { Authenticator } from './authentication/authenticator.ts';
import { RequestHeaders } from './authentication/request-headers.ts';
import { TokenSigner } from './authentication/token-signer.ts';
import { AlwaysAuthorizer } from './authorization/always.ts';
import { Authorizer } from './authorization/authorizer.ts';
import { saveSecret } from './secrets.ts';
import type { EmbeddedApiServerOptions } from './server-options.ts';
import type { Store } from './storage/store.ts';

/** Returns what identifies the users of requests. */
export const authenticatorOf = (
  { tokens = [], anonymous = true, requestHeaders }: EmbeddedApiServerOptions,
  deps: { readonly store: Store; readonly clock: Clock; readonly signer: TokenSigner },
): Authenticator =>
  new Authenticator({
    ...deps,
    tokens,
    anonymous,
    ...(requestHeaders && { requestHeaders: new RequestHeaders(requestHeaders) }),
  });

/** Returns what decides who may do what. */
export const authorizerOf = (
  { authorization = 'RBAC', clusterTrustBundles = false }: EmbeddedApiServerOptions,
  store: Store,
): Authorizer =>
  authorization === 'RBAC'
    ? new Authorizer(store, clusterTrustBundles)
    : new AlwaysAuthorizer(store, authorization);

/** Returns the signer of service account tokens, with configured keys or with one that is kept across runs. */
export const signerOf = (
  { dataDir, serviceAccounts }: EmbeddedApiServerOptions,
  saved?: string,
): TokenSigner =>
  new TokenSigner({
    ...(saved !== undefined && { signingKey: saved }),
    ...serviceAccounts,
    save: (pem) => {
      saveSecret(dataDir, 'service-account.key', pem);
    },
  });
