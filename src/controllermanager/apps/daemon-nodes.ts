import { untoleratedTaint } from '../../kube/taints.ts';
import { matchesNodeAffinity } from '../../kube/node-affinity.ts';
import type { Toleration } from '../../kube/types.ts';
import { kinds } from '../../controller/kinds.ts';
import { nameOf, podOf, prefixOf } from '../workload/objects.ts';
import { revisionLabel } from '../workload/revisions.ts';
import type { DaemonSet, Node, Pod } from '../workload/types.ts';

export const generationLabel = 'pod-template-generation';
const generationAnnotation = 'deprecated.daemonset.template.generation';

const tolerationOf = (key: string, effect: string): Toleration => ({
  key: `node.kubernetes.io/${key}`,
  operator: 'Exists',
  effect,
});

/** What pods of DaemonSets tolerate besides what their template says. */
const daemonTolerations: readonly Toleration[] = [
  tolerationOf('not-ready', 'NoExecute'),
  tolerationOf('unreachable', 'NoExecute'),
  tolerationOf('disk-pressure', 'NoSchedule'),
  tolerationOf('memory-pressure', 'NoSchedule'),
  tolerationOf('pid-pressure', 'NoSchedule'),
  tolerationOf('unschedulable', 'NoSchedule'),
];

const isSame = (one: Toleration, other: Toleration): boolean =>
  (one.key ?? '') === (other.key ?? '') &&
  (one.effect ?? '') === (other.effect ?? '') &&
  (one.operator ?? '') === (other.operator ?? '') &&
  (one.value ?? '') === (other.value ?? '');

/** Returns the tolerations of a DaemonSet's pod. */
export function tolerationsOf({ tolerations = [], hostNetwork }: NonNullable<Pod['spec']>): Toleration[] {
  const own = hostNetwork
    ? [...daemonTolerations, tolerationOf('network-unavailable', 'NoSchedule')]
    : daemonTolerations;
  return [...tolerations, ...own.filter((one) => !tolerations.some((other) => isSame(one, other)))];
}

/** Returns the generation of the template, which the API server counts; undefined when it is no number. */
export function templateGeneration({ metadata }: DaemonSet): string | undefined {
  const text = metadata?.annotations?.[generationAnnotation];
  return text !== undefined && /^-?\d+$/.test(text) ? String(Number(text)) : undefined;
}

/** Returns the pod of a DaemonSet for a node: only the scheduler's choice of this node satisfies its affinity. */
export function daemonPod(set: DaemonSet, node: string, hash: string): Pod {
  const pod = podOf(set.spec?.template, set, kinds.DaemonSet);
  const generation = templateGeneration(set);
  const labels = {
    ...pod.metadata?.labels,
    ...(generation !== undefined && { [generationLabel]: generation }),
    [revisionLabel]: hash,
  };
  const metadata = { ...pod.metadata, generateName: prefixOf(set), labels };
  if (!pod.spec) return { metadata };
  const { affinity } = pod.spec;
  const nodeSelectorTerms = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }];
  const nodeAffinity = {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
  };
  return {
    metadata,
    spec: { ...pod.spec, tolerations: tolerationsOf(pod.spec), affinity: { ...affinity, nodeAffinity } },
  };
}

/** Returns the node that a pod of a DaemonSet is on or for; undefined when nothing says so. */
export function targetNode({ spec }: Pod): string | undefined {
  if ((spec?.nodeName ?? '') !== '') return spec?.nodeName;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const fields = (required?.nodeSelectorTerms ?? []).flatMap(({ matchFields = [] }) => matchFields);
  const field = fields.find(
    ({ key, operator, values }) => key === 'metadata.name' && operator === 'In' && values?.length === 1,
  );
  return field?.values?.[0];
}

/** Whether a node gets a pod of a DaemonSet, and whether one that it has stays. */
export interface NodeFit {
  readonly runs: boolean;
  readonly stays: boolean;
}

/** Judges a node by the template's node name, node selector, node affinity and tolerations (`NodeShouldRunDaemonPod`). */
export function nodeFit(set: DaemonSet, node: Node): NodeFit {
  const spec = set.spec?.template.spec;
  if (!spec) return { runs: false, stays: false };
  const name = spec.nodeName ?? '';
  const matches = (name === '' || name === nameOf(node)) && matchesNodeAffinity({ spec }, node);
  if (!matches) return { runs: false, stays: false };
  const [taints, tolerations] = [node.spec?.taints ?? [], tolerationsOf(spec)];
  if (!untoleratedTaint(taints, tolerations, ['NoExecute', 'NoSchedule'])) return { runs: true, stays: true };
  return { runs: false, stays: !untoleratedTaint(taints, tolerations, ['NoExecute']) };
}
