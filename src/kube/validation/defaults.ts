import {
  aggregateContainers,
  isPodLevelResource,
  type ResourceList,
  resourceListOf,
  type ResourceSide,
} from '../resources/resources.ts';
import type { Container, EphemeralContainer, Pod, PodSpec } from '../types.ts';
import {
  canonicalResources,
  type ContainerContext,
  defaultContainer,
  defaultResources,
} from './default-container.ts';
import { defaultVolume } from './default-volume.ts';
import { orElse } from './shared.ts';
import { isHugePageResource } from '../resources/resource-names.ts';

/**
 * A pod with the API's defaults filled in, as the API server stores it and the kubelet reads a manifest: what was absent or zero gets
 * its default, resource amounts their canonical text. Idempotent; the given pod stays as it is.
 *
 * Follows Kubernetes `SetObjectDefaults_Pod` (pkg/apis/core/v1, v1.36).
 */
export function defaultPod(pod: Pod): Pod {
  return pod.spec
    ? { ...pod, spec: defaultPodLevel({ ...pod, spec: defaultSpec(pod.spec) }) }
    : { ...pod, spec: defaultSpec({ containers: [] }) };
}

function defaultSpec(spec: PodSpec): PodSpec {
  const hostNetwork = spec.hostNetwork ?? false;
  const main: ContainerContext = { hostNetwork, requestsFromLimits: true };
  const debug: ContainerContext = { hostNetwork: false, requestsFromLimits: false };
  return {
    ...spec,
    ...lists(spec, main, debug),
    ...(spec.volumes && { volumes: spec.volumes.map(defaultVolume) }),
    ...(spec.overhead && { overhead: canonicalResources(spec.overhead) ?? {} }),
    ...(spec.resources && { resources: defaultResources(spec.resources, false) }),
    restartPolicy: orElse(spec.restartPolicy, 'Always'),
    dnsPolicy: orElse(spec.dnsPolicy, 'ClusterFirst'),
    schedulerName: orElse(spec.schedulerName, 'default-scheduler'),
    // a negative grace period means the shortest one
    terminationGracePeriodSeconds:
      (spec.terminationGracePeriodSeconds ?? 30) < 0 ? 1 : (spec.terminationGracePeriodSeconds ?? 30),
    enableServiceLinks: spec.enableServiceLinks ?? true,
    securityContext: spec.securityContext ?? {},
    ...accountNames(spec),
  };
}

function lists(spec: PodSpec, main: ContainerContext, debug: ContainerContext): Partial<PodSpec> {
  const fill = (container: Container): Container => defaultContainer(container, main);
  const { initContainers, ephemeralContainers } = spec;
  // manifests may lack the list; the fault is named by validation
  const containers = spec.containers as readonly Container[] | undefined;
  return {
    containers: (containers ?? []).map(fill),
    ...(initContainers && { initContainers: initContainers.map(fill) }),
    ...(ephemeralContainers && {
      ephemeralContainers: ephemeralContainers.map((container: EphemeralContainer): EphemeralContainer =>
        defaultContainer(container, debug),
      ),
    }),
  };
}

/** The old name of the service account follows the new one, and stands in for it when only the old one is set. */
function accountNames(spec: PodSpec): Partial<PodSpec> {
  const name = orElse(spec.serviceAccountName, spec.serviceAccount ?? '');
  return name === '' ? {} : { serviceAccountName: name, serviceAccount: name };
}

/**
 * Requests of the whole pod: the sum of its containers' where they have any, else the pod's limit. Huge page limits follow the containers'.
 *
 * Follows Kubernetes `defaultPodRequests` and `defaultHugePagePodLimits`.
 */
function defaultPodLevel(pod: Pod & { readonly spec: PodSpec }): PodSpec {
  const { spec } = pod;
  const { resources } = spec;
  if (!resources || (!resources.limits && !resources.requests)) return spec;
  const containers = (side: ResourceSide, counts: (name: string) => boolean): ResourceList =>
    pick(resourceListOf(aggregateContainers(spec, side)), counts);
  const limits = { ...containers('limits', isHugePageResource), ...resources.limits };
  if (Object.keys(limits).length === 0) return spec;
  const requests = {
    ...pick(limits, isPodLevelResource),
    ...containers('requests', (name) => name === 'cpu' || name === 'memory'),
    ...resources.requests,
  };
  return { ...spec, resources: { ...resources, ...filled({ limits }), ...filled({ requests }) } };
}

const pick = (list: ResourceList, counts: (name: string) => boolean): ResourceList =>
  Object.fromEntries(Object.entries(list).filter(([name]) => counts(name)));

/** Members that hold something. */
const filled = (lists: Readonly<Record<string, ResourceList>>): Readonly<Record<string, ResourceList>> =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => Object.keys(list).length > 0));
