import type { LinuxContainerSecurityContext } from '../provider/cri-messages.ts';

/** User, group and supplementary groups of a process. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups: readonly number[];
}

/** Returns the user of a container; the agent's where none is set. A user without a group gets the group with its own number. */
export function userOf(
  context: LinuxContainerSecurityContext,
  agent: { readonly uid: number; readonly gid: number },
): ProcessUser {
  const uid = context.runAsUser?.value ?? agent.uid;
  const ownGroup = uid === agent.uid ? agent.gid : uid;
  return {
    uid,
    gid: context.runAsGroup?.value ?? ownGroup,
    supplementalGroups: context.supplementalGroups ?? [],
  };
}
