import { goStructJson } from '../go/go-json.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { Container, Pod, ResourceRequirements } from '../kube/types.ts';

/** The text of `ResizeStarted`. */
export const resizeStartedMessage = (pod: Pod, generation: number): string =>
  resizeMessage('Pod resize started', pod, generation);

/** The text of `ResizeCompleted`. @param generation that the resize was for */
export const resizeCompletedMessage = (pod: Pod, generation: number): string =>
  resizeMessage('Pod resize completed', pod, generation);

/** The text of `ResizeError`. */
export const resizeErrorMessage = (pod: Pod, generation: number, error: string): string =>
  resizeMessage('Pod resize error', pod, generation, error);

/** The text of `ResizeDeferred` and `ResizeInfeasible`. @param reason of the admission step that refused it */
export const resizePendingMessage = (
  pod: Pod,
  generation: number,
  { reason, message }: { readonly reason: string; readonly message: string },
): string => resizeMessage(`Pod resize ${reason}`, pod, generation, message);

/** What is asked for, by container; resources of the pod as a whole are left out. Follows kubelet `podResizeMessage`. */
function resizeMessage(what: string, { spec }: Pod, generation: number, error = ''): string {
  const initContainers = (spec?.initContainers ?? []).map(summaryOf);
  const containers = (spec?.containers ?? []).map(summaryOf);
  const summary = {
    ...(initContainers.length > 0 && { initContainers }),
    ...(containers.length > 0 && { containers }),
    generation,
    ...(error !== '' && { error }),
  };
  return `${what}: ${goStructJson(summary)}`;
}

const summaryOf = ({ name, resources }: Container): object => ({ name, resources: ordered(resources) });

/** In the order of Go's struct, and each list by name. */
function ordered({ limits, requests, claims }: ResourceRequirements = {}): object {
  return {
    ...(limits && hasAny(limits) && { limits: sorted(limits) }),
    ...(requests && hasAny(requests) && { requests: sorted(requests) }),
    ...(claims && claims.length > 0 && { claims }),
  };
}

const hasAny = (list: ResourceList): boolean => Object.keys(list).length > 0;

const sorted = (list: ResourceList): ResourceList =>
  Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)));
