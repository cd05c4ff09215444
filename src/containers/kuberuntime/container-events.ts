import { allContainerFields } from '../../kube/container-fields.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { NoteEvent } from '../images/images.ts';

/**
 * Returns the field path of a container, such as `spec.initContainers{setup}`; `undefined` when the spec does not have it
 * (`GenerateContainerRef`).
 */
export const containerFieldPath = (pod: Pod, name: string): string | undefined => {
  for (const field of allContainerFields)
    if (pod.spec?.[field]?.some((container) => container.name === name)) return `spec.${field}{${name}}`;
  return undefined;
};

/**
 * Returns an event recorder for one container of a pod, with its field path (R281). A container that is not in the spec gets no events. In
 * messages the runtime's id is replaced by the container's name (`recordContainerEvent`).
 */
export function containerEvents(
  recorder: EventRecorder,
  pod: Pod,
  container: Pick<Container, 'name'>,
): NoteEvent {
  const fieldPath = containerFieldPath(pod, container.name);
  return (type, reason, message) => {
    if (fieldPath !== undefined) recorder.event(pod, type, reason, message, { fieldPath });
  };
}
