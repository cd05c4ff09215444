import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { quantityOf } from '../kube/resources/quantity.ts';
import { type Amounts, amountsOf, type ResourceList, resourceListOf } from '../kube/resources/resources.ts';
import {
  allocatableAbsolute,
  allocatableReservation,
  cgroupLimits,
  type HardThreshold,
} from '../containers/cm/allocatable.ts';
import type { MeasuredMachine } from '../containers/stats/machine-info.ts';
import { nodeStatusSetters } from '../node/default-setters.ts';
import type { NodeIdentity } from '../node/register.ts';
import type { NodeImage } from '../node/setters/images.ts';
import type { HandlerFeatures, RuntimeFeatures } from '../node/setters/runtime.ts';
import type { NodeStatusSetter } from '../node/setters/setter.ts';
import type { CgroupSettings } from '../containers/cm/settings.ts';

/** The Kubernetes release that this agent follows. */
export const kubernetesVersion = 'v1.36.2';

/** Kubelet `maxPods`. */
export const defaultMaxPods = 110;

/** What a node says of itself beyond what is measured. */
export interface NodeSettings {
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels that the node does without where its identity may not set them. */
  readonly optionalLabels?: Readonly<Record<string, string>>;
  /** The cloud's name of this machine (kubelet `providerID`). */
  readonly providerId?: string;
  /** A cloud controller finishes the node (kubelet flag `--cloud-provider=external`); default: there is none. */
  readonly externalCloudProvider?: boolean;
  readonly taints?: NodeIdentity['taints'];
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  /** Amounts that replace what was measured, for nodes that are no machine. */
  readonly capacity?: ResourceList;
  readonly systemReserved?: ResourceList;
  readonly kubeReserved?: ResourceList;
  readonly hardEviction?: readonly HardThreshold[];
  readonly runtimeVersion?: () => string;
  readonly images?: () => Promise<readonly NodeImage[]>;
  readonly handlers?: () => readonly HandlerFeatures[];
  /** What the runtime can do beside its handlers; default: it does not say. */
  readonly runtimeFeatures?: () => RuntimeFeatures | undefined;
  /** `status.declaredFeatures`; default: what the agent sees of itself. */
  readonly features?: readonly string[];
  readonly pressure?: (kind: 'memory' | 'disk' | 'pid') => boolean;
  /** Takes the addresses that the cluster gives this node's pods, as `10.1.0.0/24` or both families joined by a comma, when they change. */
  readonly podCidrs?: (cidrs: string) => Promise<void>;
  /** How many images are told; -1: all. Default 50 (kubelet `nodeStatusMaxImages`). */
  readonly maxImages?: number;
  /** The attach/detach controller looks after this node's volumes; default: yes (kubelet `enableControllerAttachDetach`). */
  readonly controllerAttachDetach?: boolean;
}

export interface NodeSettersInput {
  readonly machine: MeasuredMachine;
  readonly nodeName: string;
  readonly nodeIPs: readonly string[];
  readonly settings: NodeSettings;
  /** Port of the agent's own HTTPS server; 0: none. */
  readonly kubeletPort: () => number;
}

/** What there is in all. @param configured amounts that replace what was measured */
const capacityOf = (
  { machine, storage }: Pick<MeasuredMachine, 'machine' | 'storage'>,
  configured: ResourceList | undefined,
): Amounts =>
  amountsOf({
    cpu: String(machine.numCores),
    memory: String(machine.memoryCapacity),
    ...storage,
    ...configured,
  });

/**
 * What all pods together are limited to (kubelet `createNodeAllocatableCgroups`): processor weight, memory, processes and huge pages.
 *
 * @param isEnforced what is reserved is kept from them (`enforceNodeAllocatable: [pods]`); else they get what there is
 */
export function allPodsLimits(
  measured: Pick<MeasuredMachine, 'machine' | 'storage' | 'mostProcesses'>,
  { capacity, systemReserved, kubeReserved }: NodeSettings,
  isEnforced: boolean,
): CgroupSettings {
  const { machine, mostProcesses } = measured;
  const pid = mostProcesses !== undefined && { pid: quantityOf(mostProcesses, 'DecimalSI') };
  const whole = { ...capacityOf(measured, capacity), ...pid };
  const reserved = { system: amountsOf(systemReserved), kube: amountsOf(kubeReserved) };
  const pages = (machine.hugePages ?? []).map(({ pageSizeKib, count }) => [
    pageSizeKib * 1024,
    pageSizeKib * 1024 * count,
  ]);
  return {
    ...cgroupLimits(isEnforced ? allocatableAbsolute(whole, reserved) : whole),
    ...(machine.hugePages && { hugePageLimit: Object.fromEntries(pages) as Record<string, number> }),
  };
}

/** Every part of the node's status but Ready, from what was measured and what was set. */
export function nodeSetters({
  machine: measured,
  nodeName,
  nodeIPs,
  settings,
  kubeletPort,
}: NodeSettersInput): readonly NodeStatusSetter[] {
  const { machine, system, storage } = measured;
  const { capacity: configured, images, handlers, pressure, runtimeFeatures } = settings;
  const reservation = resourceListOf(
    allocatableReservation(capacityOf(measured, configured), {
      system: amountsOf(settings.systemReserved),
      kube: amountsOf(settings.kubeReserved),
      hardEviction: settings.hardEviction ?? [],
    }),
  );
  return nodeStatusSetters({
    addresses: {
      nodeIps: nodeIPs,
      hostname: nodeName,
      externalCloudProvider: settings.externalCloudProvider ?? false,
      validate: () => undefined,
      lookup: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
      resolve: (prefer) =>
        nodeIPs.find((ip) => prefer === undefined || isIPv6(ip) === isIPv6(prefer)) ?? '127.0.0.1',
    },
    machine: () => ({
      machine,
      maxPods: settings.maxPods ?? defaultMaxPods,
      podsPerCore: settings.podsPerCore ?? 0,
      storage,
      reservation,
      ...(configured && { configured }),
    }),
    versions: () => ({
      ...system,
      kubeletVersion: kubernetesVersion,
      containerRuntimeVersion: settings.runtimeVersion?.() ?? '',
    }),
    port: kubeletPort,
    ...(images && { images }),
    ...(handlers && { handlers }),
    ...(runtimeFeatures && { features: runtimeFeatures }),
    ...(settings.features && { declaredFeatures: settings.features }),
    ...(pressure && { pressure }),
    ...(settings.maxImages !== undefined && { maxImages: settings.maxImages }),
    ...(settings.podCidrs && { podCidrs: settings.podCidrs }),
  });
}
