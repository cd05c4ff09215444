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
 * Returns a pod with the API's defaults, as the API server stores it and the kubelet reads a manifest: absent or zero fields get
 * their default, quantities their canonical form. Idempotent; the argument is not changed.
 *
 * Follows Kubernetes `SetObjectDefaults_Pod` (pkg/apis/core/v1, v1.36).
 */
export function defaultPod(pod: Pod): Pod {
  return pod.spec
    ? { ...pod, spec: defaultPodLevel({ ...pod, spec: defaultSpec(pod.spec) }) }
    : { ...pod, spec: defaultSpec({ containers: [] }) };
}

/** The defaults of containers that are not the main ones of a pod: debug containers, and those of templates. */
const plain: ContainerContext = { hostNetwork: false, requestsFromLimits: false };

function defaultSpec(spec: PodSpec): PodSpec {
  const main: ContainerContext = { hostNetwork: spec.hostNetwork ?? false, requestsFromLimits: true };
  return {
    ...commonDefaults(spec, main),
    // Negative values become 1.
    terminationGracePeriodSeconds:
      (spec.terminationGracePeriodSeconds ?? 30) < 0 ? 1 : (spec.terminationGracePeriodSeconds ?? 30),
    enableServiceLinks: spec.enableServiceLinks ?? true,
  };
}

/**
 * Returns the spec of a pod template with the API's defaults: those of a pod, except the ones that a pod gets at its creation (requests
 * from limits, host ports, service links, pod-level requests).
 */
export const defaultTemplateSpec = (spec: PodSpec): PodSpec => commonDefaults(spec, plain);

/** Sets the defaults that pods and pod templates share (Kubernetes `SetDefaults_PodSpec` and its parts). */
function commonDefaults(spec: PodSpec, main: ContainerContext): PodSpec {
  return {
    ...spec,
    ...lists(spec, main),
    ...(spec.volumes && { volumes: spec.volumes.map(defaultVolume) }),
    ...(spec.overhead && { overhead: canonicalResources(spec.overhead) ?? {} }),
    ...(spec.resources && { resources: defaultResources(spec.resources, false) }),
    restartPolicy: orElse(spec.restartPolicy, 'Always'),
    dnsPolicy: orElse(spec.dnsPolicy, 'ClusterFirst'),
    schedulerName: orElse(spec.schedulerName, 'default-scheduler'),
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
    securityContext: spec.securityContext ?? {},
    ...accountNames(spec),
  };
}

function lists(spec: PodSpec, main: ContainerContext): Partial<PodSpec> {
  const fill = (container: Container): Container => defaultContainer(container, main);
  const { initContainers, ephemeralContainers } = spec;
  // Manifests may lack the list; validation reports that.
  const containers = spec.containers as readonly Container[] | undefined;
  return {
    containers: (containers ?? []).map(fill),
    ...(initContainers && { initContainers: initContainers.map(fill) }),
    ...(ephemeralContainers && {
      ephemeralContainers: ephemeralContainers.map((container: EphemeralContainer): EphemeralContainer =>
        defaultContainer(container, plain),
      ),
    }),
  };
}

/** Copies `serviceAccountName` to the deprecated `serviceAccount`, or the reverse when only the latter is set. */
function accountNames(spec: PodSpec): Partial<PodSpec> {
  const name = orElse(spec.serviceAccountName, spec.serviceAccount ?? '');
  return name === '' ? {} : { serviceAccountName: name, serviceAccount: name };
}

/**
 * Returns pod-level defaults: requests are the sum of the containers' or, without any, the pod's limit. Huge page limits follow the
 * containers'.
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

/** Drops empty members. */
const filled = (lists: Readonly<Record<string, ResourceList>>): Readonly<Record<string, ResourceList>> =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => Object.keys(list).length > 0));
