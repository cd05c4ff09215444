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

/** Returns the options of `setpriv` with which a program gets its user; none when the caller already is that user. */
export function setprivWords(
  { uid, gid, supplementalGroups }: ProcessUser,
  own: { readonly uid: number; readonly gid: number },
): readonly string[] {
  const groups = supplementalGroups.length > 0 ? [`--groups=${supplementalGroups.join(',')}`] : [];
  if (uid === own.uid && gid === own.gid) return groups;
  return [`--reuid=${uid}`, `--regid=${gid}`, ...(groups.length > 0 ? groups : ['--clear-groups'])];
}
