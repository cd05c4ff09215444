import { containerShouldRestart } from '../../../kube/restart-policy.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import type { RuntimeContainerStatus } from '../../../provider/runtime-pod.ts';

/** True when a container that does not run must be started (R175). Follows `ShouldContainerBeRestarted`. */
export function shouldStart(
  pod: Pod,
  container: Container,
  status: RuntimeContainerStatus | undefined,
): boolean {
  if (pod.metadata?.deletionTimestamp) return false;
  if (!status) return true;
  if (status.state === 'running') return false;
  if (status.state === 'unknown' || status.state === 'created') return true;
  return pod.spec !== undefined && containerShouldRestart(container, pod.spec, status.exitCode);
}

/** True when a container restarts after a failure: unless its own restart policy, or otherwise the pod's, is `Never` (R176). */
export const restartsOnFailure = (pod: Pod, container: Container): boolean =>
  (container.restartPolicy ?? pod.spec?.restartPolicy) !== 'Never';
