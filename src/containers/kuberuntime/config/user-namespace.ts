import { AgentError } from '../../../base/errors.ts';
import type { Pod } from '../../../kube/types.ts';
import type { UserNamespace } from '../../../provider/cri-messages.ts';
import type { RuntimeHelper } from '../helper.ts';

/** What the node can provide for a pod with a user namespace. */
export interface PodUsers {
  /** The pod's runtime handler; empty: the default handler. */
  readonly runtimeHandler: string;
  /** Absent: the runtime does not support user namespaces, and the option is not set. */
  readonly mapping?: UserNamespace;
}

/** True when a pod has its own user namespace (`hostUsers: false`). */
export const wantsOwnUsers = ({ spec }: Pod): boolean => spec?.hostUsers === false;

/** Requests the mapped ids of a pod. */
export async function podUsersOf(
  pod: Pod,
  helper: Pick<RuntimeHelper, 'runtimeHandler' | 'userNamespace'>,
): Promise<PodUsers> {
  const runtimeHandler = wantsOwnUsers(pod) ? ((await helper.runtimeHandler?.(pod)) ?? '') : '';
  const mapping = await helper.userNamespace?.(pod, runtimeHandler);
  return { runtimeHandler, ...(mapping && { mapping }) };
}

/**
 * Returns the user namespace of a pod. Follows `GetOrCreateUserNamespaceMappings`.
 *
 * @throws {AgentError} `invalid_argument` when the pod needs a user namespace and the runtime does not support them
 */
export function userNamespaceOf(pod: Pod, { runtimeHandler, mapping }: PodUsers): UserNamespace | undefined {
  if (mapping || !wantsOwnUsers(pod)) return mapping;
  throw new AgentError(
    'invalid_argument',
    `RuntimeClass handler "${runtimeHandler}" does not support user namespaces`,
  );
}
