import { AgentError } from '../../../base/errors.ts';
import type { Pod } from '../../../kube/types.ts';
import type { UserNamespace } from '../../../provider/cri-messages.ts';
import type { RuntimeHelper } from '../helper.ts';

/** What the node could do for a pod that wants users of its own. */
export interface PodUsers {
  /** The runtime handler of the pod; empty: the default one. */
  readonly runtimeHandler: string;
  /** Absent: the runtime is told nothing, and knows no user namespaces. */
  readonly mapping?: UserNamespace;
}

/** Whether a pod is to have users of its own. */
export const wantsOwnUsers = ({ spec }: Pod): boolean => spec?.hostUsers === false;

/** Asks for the ids of a pod's users on the host. */
export async function podUsersOf(
  pod: Pod,
  helper: Pick<RuntimeHelper, 'runtimeHandler' | 'userNamespace'>,
): Promise<PodUsers> {
  const runtimeHandler = wantsOwnUsers(pod) ? ((await helper.runtimeHandler?.(pod)) ?? '') : '';
  const mapping = await helper.userNamespace?.(pod, runtimeHandler);
  return { runtimeHandler, ...(mapping && { mapping }) };
}

/**
 * The user namespace of a pod. Follows `GetOrCreateUserNamespaceMappings`.
 *
 * @throws {AgentError} `invalid_argument` when the pod wants users of its own and the runtime cannot give them
 */
export function userNamespaceOf(pod: Pod, { runtimeHandler, mapping }: PodUsers): UserNamespace | undefined {
  if (mapping || !wantsOwnUsers(pod)) return mapping;
  throw new AgentError(
    'invalid_argument',
    `RuntimeClass handler "${runtimeHandler}" does not support user namespaces`,
  );
}
