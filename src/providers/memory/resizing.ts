import { milliValueOf, parseQuantity, valueOf } from '../../kube/resources/quantity.ts';
import { resizableContainers } from '../../kube/resources/pod-resources.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { RuntimeContainerResources } from '../../provider/runtime-pod.ts';
import { type Instance, isLive, type MemoryPod, newestByName } from './memory-pod.ts';

/** Returns the CPU and memory requests and limits of a container; those that are not set are absent. */
export function resourcesOf({ resources }: Container): RuntimeContainerResources {
  const { requests, limits } = resources ?? {};
  return {
    ...amount('cpuRequest', requests?.['cpu'], milliOf),
    ...amount('cpuLimit', limits?.['cpu'], milliOf),
    ...amount('memoryRequest', requests?.['memory'], bytesOf),
    ...amount('memoryLimit', limits?.['memory'], bytesOf),
  };
}

const amount = (
  name: keyof RuntimeContainerResources,
  text: string | undefined,
  read: (text: string) => number,
): RuntimeContainerResources => (text === undefined ? {} : { [name]: read(text) });

const milliOf = (text: string): number => milliValueOf(parseQuantity(text));
const bytesOf = (text: string): number => valueOf(parseQuantity(text));

/** A running container whose resources change. */
export interface Resize {
  readonly instance: Instance;
  readonly resources: RuntimeContainerResources;
  /** True when the container's resize policy requires a restart. */
  readonly restart: boolean;
}

/** Returns the resource changes that the spec requires. */
export function resizesOf(record: MemoryPod, pod: Pod): readonly Resize[] {
  const newestOf = newestByName(record);
  return resizableContainers(pod).flatMap((container) => {
    const instance = newestOf(container.name);
    if (!instance || !isLive(instance)) return [];
    const [current, resources] = [instance.resources, resourcesOf(container)];
    const changed = names.filter((name) => current[name] !== resources[name]);
    if (changed.length === 0) return [];
    return [{ instance, resources, restart: changed.some((name) => restartsFor(container, name)) }];
  });
}

const names = ['cpuRequest', 'cpuLimit', 'memoryRequest', 'memoryLimit'] as const;

const restartsFor = ({ resizePolicy }: Container, name: (typeof names)[number]): boolean =>
  resizePolicy?.some(
    ({ resourceName, restartPolicy }) =>
      name.startsWith(resourceName) && restartPolicy === 'RestartContainer',
  ) ?? false;
