import { AgentError } from '../../../base/errors.ts';
import { goQuote } from '../../../go/go-quote.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import { podText } from '../../container/backoff.ts';
import type { ImageUser } from '../../images/image-user.ts';

const maxUid = 2_147_483_647;

/**
 * Checks that a container with `runAsNonRoot` does not run as root. Follows `verifyRunAsNonRoot` (pkg/kubelet/kuberuntime).
 *
 * @throws {AgentError} `invalid_argument` with the kubelet's message
 */
export function verifyRunAsNonRoot(pod: Pod, container: Container, user: ImageUser): void {
  const [own, whole] = [container.securityContext, pod.spec?.securityContext];
  if ((own?.runAsNonRoot ?? whole?.runAsNonRoot) !== true) return;
  const fault = faultOf(own?.runAsUser ?? whole?.runAsUser, user);
  if (fault === undefined) return;
  throw new AgentError(
    'invalid_argument',
    `${fault} (pod: ${goQuote(podText(pod))}, container: ${container.name})`,
  );
}

function faultOf(runAsUser: number | undefined, { uid, username = '' }: ImageUser): string | undefined {
  if (runAsUser !== undefined)
    return runAsUser === 0 ? "container's runAsUser breaks non-root policy" : undefined;
  const refusal = 'container has runAsNonRoot and image';
  if (uid === 0) return `${refusal} will run as root`;
  if (uid !== undefined && (uid < 0 || uid > maxUid))
    return `${refusal} has an invalid user id (${uid}). (Must be 1-(${maxUid})): must be between 0 and ${maxUid}, inclusive`;
  if (uid === undefined && username !== '')
    return `${refusal} has non-numeric user (${username}), cannot verify user is non-root`;
  return undefined;
}
