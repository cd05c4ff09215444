import { ownMember } from '../../base/own.ts';
import { sameAmount } from './quantity.ts';
import type { ResourceList } from './resources.ts';
import type { Container, Pod, ResourceRequirements } from '../types.ts';

/** The resources of a pod's containers by name and, where it has them, of the pod as a whole. Kubelet's `PodResourceInfo`. */
export interface PodResourceInfo {
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  readonly pod?: ResourceRequirements;
}

/** {@link PodResourceInfo} by pod UID. */
export type PodResourceMap = Readonly<Record<string, PodResourceInfo>>;

/** Where such a map is kept for the next agent. */
export interface ResourceKeeper {
  /** What an earlier agent kept. */
  readonly before: PodResourceMap;
  /** Resolves when a state as new as that at the call is safe. */
  save(state: () => PodResourceMap): Promise<void>;
}

/** Do two say the same, however it is written? Nothing said is as good as an empty list. */
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

/** Those whose resources can change while they run: all but ephemeral ones (kubelet `IsResizableContainer`). */
export const resizableContainers = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

/** What a pod asks for. Follows kubelet `allocationFromPod`. */
export const podResourcesOf = (pod: Pod): PodResourceInfo => ({
  containers: Object.fromEntries(
    resizableContainers(pod).map(({ name, resources }) => [name, resources ?? {}]),
  ),
  ...(pod.spec?.resources && { pod: pod.spec.resources }),
});

/**
 * The pod with other resources in its spec, and the very same pod where they are no others. Containers that are not named keep theirs.
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
