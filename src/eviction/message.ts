import { nameOf, uidOf } from '../kube/names.ts';
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  zeroQuantity,
} from '../kube/resources/quantity.ts';
import type { Container, Pod } from '../kube/types.ts';
import { amountOfValue } from './assess.ts';
import type { Observations } from './observations.ts';
import { signalFacts, type StarvedResource } from './signals.ts';
import type { ContainerStats, PodStats, StatsOf } from '../kube/stats-summary.ts';
import type { Threshold } from './thresholds.ts';
import { memoryUsage } from './usage.ts';

/** Message of an eviction, and annotations of its Event for programs. */
export interface EvictionMessage {
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Inputs of the message. */
export interface MessageInput {
  readonly stats: StatsOf;
  /** Thresholds that require action. */
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
}

/**
 * Returns message and annotations of an eviction: the resource, by how much it is short, and the containers that exceed their requests.
 *
 * Follows kubelet `eviction.evictionMessage`.
 */
export function evictionMessage(resource: StarvedResource, pod: Pod, input: MessageInput): EvictionMessage {
  const low = `The node was low on resource: ${resource}. ${thresholdText(resource, input)}`;
  const stats = input.stats(uidOf(pod));
  if (!stats) return { message: low, annotations: {} };
  const wholePod = podOffence(resource, pod, stats);
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const offenders = (stats.containers ?? []).flatMap((own) => offence(resource, containers, own) ?? []);
  return {
    message: [low, wholePod?.text, ...offenders.map(({ text }) => text)].join(''),
    annotations: {
      ...(wholePod && { offending_pod: wholePod.name, offending_pod_usage: wholePod.usage }),
      offending_containers: offenders.map(({ name }) => name).join(','),
      offending_containers_usage: offenders.map(({ usage }) => usage).join(','),
      starved_resource: resource,
    },
  };
}

function thresholdText(resource: StarvedResource, { thresholds, observations }: MessageInput): string {
  for (const { signal, value } of thresholds) {
    const observed = signalFacts[signal].resource === resource ? observations[signal] : undefined;
    if (!observed) continue;
    const [required, available] = [amountOfValue(value, observed.capacity), observed.available].map(
      formatQuantity,
    );
    return `Threshold quantity: ${required}, available: ${available}. `;
  }
  return '';
}

interface Offence {
  readonly name: string;
  readonly usage: string;
  readonly text: string;
}

/** Returns how a container exceeds its request; `undefined` when it does not, or is not one of the pod's. */
function offence(
  resource: StarvedResource,
  containers: readonly Container[],
  stats: ContainerStats,
): Offence | undefined {
  const container = containers.find(({ name }) => name === stats.name);
  if (!container) return undefined;
  const usage = usageOf(resource, stats);
  const text = container.resources?.requests?.[resource];
  const request = text === undefined ? zeroQuantity : parseQuantity(text);
  if (!usage || compareQuantities(usage, request) <= 0) return undefined;
  return offenceOf(resource, `Container ${container.name}`, { name: container.name, usage, request });
}

/** Returns the usage of a pod with pod-level memory requests, also when it is below the request, as the kubelet does. */
function podOffence(resource: StarvedResource, pod: Pod, stats: PodStats): Offence | undefined {
  const request = resource === 'memory' ? pod.spec?.resources?.requests?.['memory'] : undefined;
  if (request === undefined || stats.memory == null) return undefined;
  return offenceOf(resource, `Pod ${nameOf(pod)}`, {
    name: nameOf(pod),
    usage: memoryUsage(stats),
    request: parseQuantity(request),
  });
}

function offenceOf(
  resource: StarvedResource,
  who: string,
  { name, usage, request }: { readonly name: string; readonly usage: Quantity; readonly request: Quantity },
): Offence {
  const used = formatQuantity(usage);
  const text = `${who} was using ${used}, request is ${formatQuantity(request)}, has larger consumption of ${resource}. `;
  return { name, usage: used, text };
}

function usageOf(resource: StarvedResource, { memory, rootfs, logs }: ContainerStats): Quantity | undefined {
  if (resource === 'memory')
    return memory?.workingSetBytes == null
      ? undefined
      : quantityOf(Math.trunc(memory.workingSetBytes), 'BinarySI');
  if (resource !== 'ephemeral-storage' || rootfs?.usedBytes == null || logs?.usedBytes == null)
    return undefined;
  return quantityOf(Math.trunc(rootfs.usedBytes + logs.usedBytes), 'BinarySI');
}
