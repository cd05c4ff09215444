import type { Container, ResourceRequirements } from '../kube/types.ts';
import type { ContainerOptions, Middleware } from '../provider/middleware.ts';
import { isSelected, type PodSelection } from './context.ts';

/** The settings of {@link resourceFilter}. */
export interface ResourceFilterSettings extends PodSelection {
  /** The names of resources that the provider must not see, such as `example.com/bandwidth`; `example.com/*` for all of a domain. */
  readonly remove: readonly string[];
}

/**
 * Removes resources from the requests and limits of containers before the provider sees them. They are for a scheduler that counts what the
 * back-end does not know.
 *
 * @example
 * resourceFilter({ remove: ['example.com/bandwidth'] });
 */
export const resourceFilter = (settings: ResourceFilterSettings): Middleware => ({
  name: 'resourceFilter',
  containerOptions: ({ pod, container }) =>
    isSelected(settings, pod) ? withoutResources(container, settings.remove) : undefined,
});

function withoutResources({ resources }: Container, remove: readonly string[]): ContainerOptions | undefined {
  if (!resources) return undefined;
  const isRemoved = (name: string): boolean =>
    remove.some((one) => one === name || (one.endsWith('/*') && name.startsWith(one.slice(0, -1))));
  const rest = (amounts: ResourceRequirements['requests']): ResourceRequirements['requests'] =>
    amounts && Object.fromEntries(Object.entries(amounts).filter(([name]) => !isRemoved(name)));
  const [requests, limits] = [rest(resources.requests), rest(resources.limits)];
  return { resources: { ...resources, ...(requests && { requests }), ...(limits && { limits }) } };
}
