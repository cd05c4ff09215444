import { containerShouldRestart } from '../../../kube/restart-policy.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import type { RuntimeContainerStatus } from '../../../provider/runtime-pod.ts';

/** R175: whether a container that does not run is started. Follows `ShouldContainerBeRestarted`. */
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

/** R176: a container that ended against its will starts again unless its own policy, or else the pod's, is `Never`. */
export const restartsOnFailure = (pod: Pod, container: Container): boolean =>
  (container.restartPolicy ?? pod.spec?.restartPolicy) !== 'Never';
