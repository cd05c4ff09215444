import type { Container, Pod } from './types.ts';

/** The lists of a pod spec that hold containers, in lookup order. */
export const allContainerFields = ['containers', 'initContainers', 'ephemeralContainers'] as const;

/** Returns the container with a name, of any kind (`GetContainerSpec`). */
export function findContainer(pod: Pod, name: string): Container | undefined {
  for (const field of allContainerFields) {
    const found = pod.spec?.[field]?.find((container) => container.name === name);
    if (found) return found;
  }
  return undefined;
}
