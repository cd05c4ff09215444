import { hostSubordinateIds } from '../containers/userns/subordinate-ids.ts';
import { UserNamespaces } from '../containers/userns/userns-manager.ts';
import type { PodHost } from '../pods/pod-host.ts';
import type { AgentOptions } from './agent-options.ts';
import type { CommonParts } from './common-parts.ts';
import { defaultMaxPods } from './node-setters.ts';

/**
 * Makes the allocator of user and group IDs for pods with `hostUsers: false`; `undefined` when the provider does not take them from the
 * agent.
 */
export async function buildPodUsers(
  { userNamespaces, rootDir, node }: AgentOptions,
  { random }: CommonParts,
): Promise<UserNamespaces | undefined> {
  if (!userNamespaces) return undefined;
  return UserNamespaces.start({
    ...userNamespaces,
    rootDir,
    random,
    host: hostSubordinateIds,
    maxPods: node?.maxPods ?? defaultMaxPods,
    handlers: () => node?.handlers?.(),
  });
}

/** The members of the pod host that release a pod's IDs once the pod is cleaned up (R73, R160). */
export const releasingUsers = (
  users: UserNamespaces | undefined,
  { cleanupOrphans }: Pick<PodHost, 'cleanupOrphans'>,
): Partial<Pick<PodHost, 'releaseUsers' | 'cleanupOrphans'>> =>
  users
    ? {
        releaseUsers: (uid) => {
          users.release(uid);
        },
        cleanupOrphans: async (desired, running) => {
          await cleanupOrphans(desired, running);
          users.releaseOrphans((uid) => desired.has(uid) || running.has(uid));
        },
      }
    : {};
