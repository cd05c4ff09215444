import type { User } from '../authentication/users.ts';

/** Attributes of a request to authorize. */
export interface Attributes {
  readonly user: User;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Set for requests that are not about a resource. */
  readonly path?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Version of the resource in the request's path. */
  readonly version?: string;
}

/** `allowed`, or the reason why not, which may be empty. */
export type Decision =
  | { readonly allowed: true; readonly reason: string }
  | {
      readonly allowed: false;
      readonly reason: string;
      /** Whether a mode has refused the request, instead of none allowing it. */
      readonly denied?: true;
      /** Why modes could not judge. */
      readonly error?: string;
    };

/** Returns a denial. */
export const no = (reason = ''): Decision => ({ allowed: false, reason });
