import type { Container, PodSpec } from './types.ts';

/** What a matching restart rule of a container asks for. */
export type RestartRuleAction = 'Restart' | 'RestartAllContainers';

/** The reason of a container that was ended because a rule restarts the whole pod; it always starts again. */
export const restartingAllContainersReason = 'RestartingAllContainers';

/** A sidecar: an init container that runs as long as the pod does. */
export const isRestartableInitContainer = (container: Container): boolean =>
  container.restartPolicy === 'Always';

/** The action of the container's first restart rule that fits the exit code; `undefined` when none does. */
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

/** False for an action of a newer API server, too. */
const isKnown = (action: RestartRuleAction | undefined): boolean =>
  action === 'Restart' || action === 'RestartAllContainers';

/**
 * Does a container that ended with `exitCode` run again? First a rule of the container, then its own policy, then the pod's (R175).
 * Rules count only beside a policy of the container's own. What is not known counts as absent.
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

/** Does a rule of any container of the pod restart all of them? */
export const mayRestartAllContainers = (spec: PodSpec): boolean =>
  [...(spec.initContainers ?? []), ...spec.containers].some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  );

/** Whether the pod has a sidecar. */
export const hasRestartableInitContainer = (spec: PodSpec | undefined): boolean =>
  (spec?.initContainers ?? []).some(isRestartableInitContainer);

/** Whether an exit with this code asks for all containers of the pod to start anew. */
export const asksForRestartOfAll = (container: Container, exitCode: number): boolean =>
  matchingRestartRule(container, exitCode) === 'RestartAllContainers';
