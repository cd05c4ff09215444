import type { Container, PodSpec } from './types.ts';

/** The action of a matching restart rule of a container. */
export type RestartRuleAction = 'Restart' | 'RestartAllContainers';

/** Termination reason of a container that was killed because a rule restarts the whole pod; it always restarts. */
export const restartingAllContainersReason = 'RestartingAllContainers';

/** True for sidecars: init containers with restart policy `Always`, which run as long as the pod. */
export const isRestartableInitContainer = (container: Container): boolean =>
  container.restartPolicy === 'Always';

/** Returns the action of the container's first restart rule that matches the exit code; `undefined` when none does. */
export function matchingRestartRule(container: Container, exitCode: number): RestartRuleAction | undefined {
  for (const { action, exitCodes } of container.restartPolicyRules ?? []) {
    if (!exitCodes) continue;
    const listed = exitCodes.values?.includes(exitCode) ?? false;
    if ((exitCodes.operator === 'In' && listed) || (exitCodes.operator === 'NotIn' && !listed))
      return action as RestartRuleAction;
  }
  return undefined;
}

const policies: ReadonlySet<string> = new Set(['Always', 'OnFailure', 'Never']);

/** True for supported actions; false for those of newer API servers. */
const isKnown = (action: RestartRuleAction | undefined): boolean =>
  action === 'Restart' || action === 'RestartAllContainers';

/**
 * True when a container that exited with `exitCode` restarts: decided by a rule of the container, then its own policy, then the pod's
 * (R175).
 * Rules apply only when the container has a policy of its own. Unknown values count as absent.
 *
 * Follows kubelet `podutil.ContainerShouldRestart`.
 */
export function containerShouldRestart(container: Container, spec: PodSpec, exitCode: number): boolean {
  const { restartPolicy: own } = container;
  if (own !== undefined && isKnown(matchingRestartRule(container, exitCode))) return true;
  switch (own !== undefined && policies.has(own) ? own : spec.restartPolicy) {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return true;
  }
}

/** True when a rule of any container of the pod can restart all of them. */
export const mayRestartAllContainers = (spec: PodSpec): boolean =>
  [...(spec.initContainers ?? []), ...spec.containers].some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  );

/** True when the pod has a sidecar. */
export const hasRestartableInitContainer = (spec: PodSpec | undefined): boolean =>
  (spec?.initContainers ?? []).some(isRestartableInitContainer);

/** True when an exit with this code restarts all containers of the pod. */
export const asksForRestartOfAll = (container: Container, exitCode: number): boolean =>
  matchingRestartRule(container, exitCode) === 'RestartAllContainers';
