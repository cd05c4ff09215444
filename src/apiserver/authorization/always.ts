import { allow, type AuthorizationMode, pass } from './mode.ts';

/** Allows every request. */
export const alwaysAllow: AuthorizationMode = {
  decide: () => allow(),
  rules: () => ({
    rules: [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ],
    errors: [],
  }),
};

/** Allows no request that no other mode allows. */
export const alwaysDeny: AuthorizationMode = {
  decide: () => pass('Everything is forbidden.'),
  rules: () => ({ rules: [], errors: [] }),
};
