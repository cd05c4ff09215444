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

/** The default of the kubelet's `maxPods`. */
export const defaultMaxPods = 110;

/** The settings for the Node object, beyond measured values. */
export interface NodeSettings {
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels that are omitted when the node's identity may not set them. */
  readonly optionalLabels?: Readonly<Record<string, string>>;
  /** The cloud's ID of this machine (kubelet `providerID`). */
  readonly providerId?: string;
  /** True when a cloud controller initializes the node (kubelet flag `--cloud-provider=external`). Default false. */
  readonly externalCloudProvider?: boolean;
  readonly taints?: NodeIdentity['taints'];
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  /** Amounts that replace measured ones, for nodes that are not a machine. */
  readonly capacity?: ResourceList;
  readonly systemReserved?: ResourceList;
  readonly kubeReserved?: ResourceList;
  readonly hardEviction?: readonly HardThreshold[];
  readonly runtimeVersion?: () => string;
  readonly images?: () => Promise<readonly NodeImage[]>;
  readonly handlers?: () => readonly HandlerFeatures[];
  /** Returns the features of the runtime apart from its handlers. Default: not reported. */
  readonly runtimeFeatures?: () => RuntimeFeatures | undefined;
  /** `status.declaredFeatures`. Default: derived from the agent's options. */
  readonly features?: readonly string[];
  readonly pressure?: (kind: 'memory' | 'disk' | 'pid') => boolean;
  /** Called with the node's pod CIDRs when they change: `10.1.0.0/24`, or both families joined by a comma. */
  readonly podCidrs?: (cidrs: string) => Promise<void>;
  /** The maximum number of images in the status; -1 for all. Default 50 (kubelet `nodeStatusMaxImages`). */
  readonly maxImages?: number;
  /** Whether the attach/detach controller manages this node's volumes. Default true (kubelet `enableControllerAttachDetach`). */
  readonly controllerAttachDetach?: boolean;
}

export interface NodeSettersInput {
  readonly machine: MeasuredMachine;
  readonly nodeName: string;
  readonly nodeIPs: readonly string[];
  readonly settings: NodeSettings;
  /** The port of the kubelet API; 0 for none. */
  readonly kubeletPort: () => number;
}

/** The node's capacity. @param configured amounts that replace measured ones */
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
 * The limits of the cgroup above all pods (kubelet `createNodeAllocatableCgroups`): CPU weight, memory, processes and huge pages.
 *
 * @param isEnforced true to subtract reserved resources (`enforceNodeAllocatable: [pods]`); otherwise pods may use the capacity
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

/** Makes the setters of the node status, except Ready, from measured values and settings. */
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
