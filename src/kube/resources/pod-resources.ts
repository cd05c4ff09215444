import { ownMember } from '../../base/own.ts';
import { sameAmount } from './quantity.ts';
import type { ResourceList } from './resources.ts';
import type { Container, Pod, ResourceRequirements } from '../types.ts';

/** Resources of a pod's containers by name and, if set, of the pod as a whole. Kubelet's `PodResourceInfo`. */
export interface PodResourceInfo {
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  readonly pod?: ResourceRequirements;
}

/** {@link PodResourceInfo} by pod UID. */
export type PodResourceMap = Readonly<Record<string, PodResourceInfo>>;

/** ResourceKeeper persists a resource map for the next agent. */
export interface ResourceKeeper {
  /** The map that an earlier agent stored. */
  readonly before: PodResourceMap;
  /** Persists the map. Resolves when a state at least as new as that of the call is stored. */
  save(state: () => PodResourceMap): Promise<void>;
}

/** True when two requirements are equal in amount, whatever their notation; absent equals an empty list. */
export const sameRequirements = (
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): boolean =>
  a === b ||
  (sameList(a?.requests, b?.requests) && sameList(a?.limits, b?.limits) && sameClaims(a?.claims, b?.claims));

function sameList(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every(
      (name) => Object.hasOwn(b, name) && sameAmount(ownMember(a, name) ?? '', ownMember(b, name) ?? ''),
    )
  );
}

type Claims = NonNullable<ResourceRequirements['claims']>;

const sameClaims = (a: Claims = [], b: Claims = []): boolean =>
  a.length === b.length &&
  a.every(({ name, request }, at) => name === b[at]?.name && request === b[at].request);

/** Returns the containers that can be resized in place: all but ephemeral ones (kubelet `IsResizableContainer`). */
export const resizableContainers = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

/** Returns the resources in a pod's spec. Follows kubelet `allocationFromPod`. */
export const podResourcesOf = (pod: Pod): PodResourceInfo => ({
  containers: Object.fromEntries(
    resizableContainers(pod).map(({ name, resources }) => [name, resources ?? {}]),
  ),
  ...(pod.spec?.resources && { pod: pod.spec.resources }),
});

/**
 * Returns the pod with other resources in its spec, or the same object when nothing changes. Containers without an entry keep theirs.
 *
 * Follows kubelet `updatePodFromAllocation`.
 */
export function withPodResources(pod: Pod, { containers, pod: whole }: PodResourceInfo): Pod {
  const { spec } = pod;
  if (!spec) return pod;
  const differs = ({ name, resources }: Container): boolean => {
    const own = ownMember(containers, name);
    return own !== undefined && !sameRequirements(own, resources);
  };
  const wholeDiffers = !sameRequirements(whole, spec.resources);
  const anyDiffers = spec.containers.some(differs) || spec.initContainers?.some(differs) === true;
  if (!wholeDiffers && !anyDiffers) return pod;
  const replaced = (container: Container): Container => {
    const own = ownMember(containers, container.name);
    return own && differs(container) ? { ...container, resources: own } : container;
  };
  const { resources, ...rest } = spec;
  const level = wholeDiffers ? whole : resources;
  return {
    ...pod,
    spec: {
      ...rest,
      containers: spec.containers.map(replaced),
      ...(spec.initContainers && { initContainers: spec.initContainers.map(replaced) }),
      ...(level && { resources: level }),
    },
  };
}
