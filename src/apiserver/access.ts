import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { Authenticator } from './authentication/authenticator.ts';
import { RequestHeaders } from './authentication/request-headers.ts';
import { TokenSigner } from './authentication/token-signer.ts';
import { PolicyListMode } from './authorization/abac.ts';
import { alwaysAllow, alwaysDeny } from './authorization/always.ts';
import { Authorizer, nodeMode, roleMode } from './authorization/authorizer.ts';
import type { DecisionMetrics } from './authorization/decision-metrics.ts';
import type { AuthorizationMode, AuthorizationModeName } from './authorization/mode.ts';
import { NodeAuthorizer } from './authorization/node-authorizer.ts';
import { RoleAuthorizer } from './authorization/roles.ts';
import { WebhookMode, type WebhookModeDeps } from './authorization/webhook.ts';
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
export function authorizerOf(
  options: EmbeddedApiServerOptions,
  deps: WebhookModeDeps & { readonly store: Store; readonly decisions: DecisionMetrics },
): Authorizer {
  const { store } = deps;
  const { abacPolicies, authorizationWebhook, clusterTrustBundles = false } = options;
  const roles = new RoleAuthorizer(store);
  const modeOf = (name: AuthorizationModeName): AuthorizationMode => {
    switch (name) {
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      case 'Node':
        return nodeMode(new NodeAuthorizer(store, clusterTrustBundles));
      case 'RBAC':
        return roleMode(roles);
      case 'ABAC':
        if (!abacPolicies) throw missing("ABAC's authorization policy file", 'abacPolicies');
        return new PolicyListMode(abacPolicies.text, abacPolicies.file);
      case 'Webhook':
        if (!authorizationWebhook)
          throw missing("Webhook's authorization config file", 'authorizationWebhook');
        return new WebhookMode(authorizationWebhook, deps);
    }
  };
  const modes = modesOf(options).map((name) => deps.decisions.counted(name, modeOf(name)));
  return new Authorizer(modes, roles);
}

/** Returns the modes of a server, in their order. */
export const modesOf = ({
  authorization = 'RBAC',
}: EmbeddedApiServerOptions): readonly AuthorizationModeName[] =>
  authorization === 'RBAC' ? ['Node', 'RBAC'] : [authorization].flat();

const missing = (what: string, option: string): AgentError =>
  new AgentError('invalid_argument', `authorization-mode ${what} not passed (${option})`);

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
