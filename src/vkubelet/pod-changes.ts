import { isDeepStrictEqual } from 'node:util';
import { copyOf } from '../base/copy.ts';
import { configSeenAnnotation, configSourceAnnotation } from '../kube/names.ts';
import type { Container, Pod } from '../kube/types.ts';

/**
 * Whether a pod has changed in a way that a kubelet would act on: image or resources of a container, ephemeral containers, the deadline, tolerations,
 * labels or annotations. The environment of a container never changes while it is there, however it was resolved.
 */
export const hasChanged = (before: Pod, after: Pod): boolean =>
  !isDeepStrictEqual(acted(before), acted(after));

function acted({ metadata, spec }: Pod): unknown {
  return withoutEmpty({
    labels: metadata?.labels,
    annotations: metadata?.annotations,
    containers: spec?.containers.map(actedContainer),
    initContainers: spec?.initContainers?.map(actedContainer),
    ephemeralContainers: spec?.ephemeralContainers?.map(actedContainer),
    activeDeadlineSeconds: spec?.activeDeadlineSeconds,
    tolerations: spec?.tolerations,
  });
}

const actedContainer = ({
  name,
  image,
  resources,
}: Pick<Container, 'name' | 'image' | 'resources'>): unknown => ({
  name,
  image,
  resources,
});

/** Absent and empty are one. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value ?? undefined;
  const members = Object.entries(value)
    .map(([key, member]) => [key, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** The pod as its provider gets it: a copy of its own, without what this agent noted on it. */
export function forProvider(pod: Pod): Pod {
  const copy = copyOf(pod) as { metadata?: { annotations?: Record<string, string> } };
  const annotations = copy.metadata?.annotations;
  if (annotations) {
    delete annotations[configSeenAnnotation];
    if (annotations[configSourceAnnotation] === 'api') delete annotations[configSourceAnnotation];
  }
  return copy;
}
