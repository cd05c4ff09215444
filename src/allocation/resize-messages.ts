import { goStructJson } from '../go/go-json.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { Container, Pod, ResourceRequirements } from '../kube/types.ts';

/** Returns the message of `ResizeStarted`. */
export const resizeStartedMessage = (pod: Pod, generation: number): string =>
  resizeMessage('Pod resize started', pod, generation);

/** Returns the message of `ResizeCompleted`. @param generation the pod generation of the resize */
export const resizeCompletedMessage = (pod: Pod, generation: number): string =>
  resizeMessage('Pod resize completed', pod, generation);

/** Returns the message of `ResizeError`. */
export const resizeErrorMessage = (pod: Pod, generation: number, error: string): string =>
  resizeMessage('Pod resize error', pod, generation, error);

/** Returns the message of `ResizeDeferred` and `ResizeInfeasible`. @param reason of the admission step that rejected it */
export const resizePendingMessage = (
  pod: Pod,
  generation: number,
  { reason, message }: { readonly reason: string; readonly message: string },
): string => resizeMessage(`Pod resize ${reason}`, pod, generation, message);

/** Formats the requested resources by container, without pod-level resources. Follows kubelet `podResizeMessage`. */
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

/** Orders the members as in Go's struct, and each list by name. */
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
