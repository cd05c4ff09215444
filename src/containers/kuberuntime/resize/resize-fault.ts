import { sameAmount } from '../../../kube/resources/quantity.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import { isSwappable } from '../config/memory-limits.ts';

/**
 * Returns why a pod cannot be resized in place: a container's swap limit depends on its memory request, and is not updated in place.
 *
 * Follows kubelet `disallowResizeForSwappableContainers`.
 */
export function resizeFault(
  desired: Pod,
  allocated: Pod,
  node: Parameters<typeof isSwappable>[2],
): string | undefined {
  const byName = new Map(containersOf(allocated).map((container) => [container.name, container]));
  const swaps = containersOf(desired).some((container) => {
    const own = byName.get(container.name);
    if (!own || sameAmount(memoryOf(container), memoryOf(own)) || restartsForMemory(own)) return false;
    return isSwappable(desired, container, node) || isSwappable(allocated, own, node);
  });
  return swaps ? 'In-place resize of containers with swap is not supported.' : undefined;
}

const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []),
];

const memoryOf = ({ resources }: Container): string => resources?.requests?.['memory'] ?? '0';

const restartsForMemory = ({ resizePolicy }: Container): boolean =>
  resizePolicy?.find(({ resourceName }) => resourceName === 'memory')?.restartPolicy === 'RestartContainer';
