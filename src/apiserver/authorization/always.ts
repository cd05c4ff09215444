import type { Decision } from './attributes.ts';
import { Authorizer } from './authorizer.ts';

/** Allows every request, or denies every request of users outside `system:masters`; as the modes AlwaysAllow and AlwaysDeny. */
export class AlwaysAuthorizer extends Authorizer {
  readonly #decision: Decision;

  constructor(store: ConstructorParameters<typeof Authorizer>[0], mode: 'AlwaysAllow' | 'AlwaysDeny') {
    super(store);
    this.#decision =
      mode === 'AlwaysAllow'
        ? { allowed: true, reason: '' }
        : { allowed: false, reason: 'Everything is forbidden.' };
  }

  override decide(at: Parameters<Authorizer['decide']>[0]): Decision {
    if (at.user.groups.includes('system:masters')) return { allowed: true, reason: '' };
    return this.#decision;
  }
}
