import { allContainerFields } from '../../kube/container-fields.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { NoteEvent } from '../images/images.ts';

/** Where a container stands in its pod, e.g. `spec.initContainers{setup}`; `undefined`: nowhere (`GenerateContainerRef`). */
export const containerFieldPath = (pod: Pod, name: string): string | undefined => {
  for (const field of allContainerFields)
    if (pod.spec?.[field]?.some((container) => container.name === name)) return `spec.${field}{${name}}`;
  return undefined;
};

/**
 * Events about one container of a pod, with its field path (R281). A container that the spec does not have gets none. The
 * runtime's id is not told: its place takes the container's name (`recordContainerEvent`).
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
