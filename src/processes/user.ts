import type { LinuxContainerSecurityContext } from '../provider/cri-messages.ts';

/** The rights that a process has. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups: readonly number[];
}

/** Who a container runs as; `agent` where it asks for no one. A user without a group has the group of its own number. */
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
