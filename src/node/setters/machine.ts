import { ownMember, setOwn } from '../../base/own.ts';
import {
  formatQuantity,
  milliQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  signOfQuantity,
  subQuantities,
} from '../../kube/resources/quantity.ts';
import { isExtendedResource, isHugePageResource } from '../../kube/resources/resource-names.ts';
import type { Node, NodeStatus } from '../../kube/types.ts';
import { type SetterResult, withStatus } from './setter.ts';

type ResourceList = Readonly<Record<string, string>>;

/** Properties of the machine. */
export interface MachineInfo {
  readonly numCores: number;
  /** Memory in bytes. */
  readonly memoryCapacity: number;
  /** Swap in bytes; 0: none. */
  readonly swapCapacity?: number;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly hugePages?: readonly { readonly pageSizeKib: number; readonly count: number }[];
}

/** Inputs of capacity and allocatable. */
export interface MachineSettings {
  /** Absent: unknown. */
  readonly machine: MachineInfo | undefined;
  readonly maxPods: number;
  /** Maximum pods per core; 0: only `maxPods` applies. */
  readonly podsPerCore: number;
  /** Size of the file system in bytes, as `ephemeral-storage`; other members are ignored. */
  readonly storage: ResourceList;
  /** Amounts reserved from pods (R245). */
  readonly reservation: ResourceList;
  /** Amounts that replace measured ones, for nodes that are not machines. */
  readonly configured?: ResourceList;
  readonly devices?: {
    readonly capacity: ResourceList;
    readonly allocatable: ResourceList;
    readonly removed: readonly string[];
  };
}

/** Sets capacity, allocatable and the machine's identity (kubelet `nodestatus.MachineInfo`). */
export function machineInfo(node: Node, settings: MachineSettings): SetterResult {
  const { machine } = settings;
  const before = node.status?.nodeInfo;
  const capacity = canonical({ ...capacityOf(node, settings), ...settings.configured });
  const allocatable = canonical(allocatableOf(capacity, node.status?.allocatable ?? {}, settings));
  const nodeInfo = { ...noInfo, ...before, ...identityOf(machine, before) };
  const rebooted = machine !== undefined && isAnother(before?.bootID, machine.bootId);
  const message = `Node ${node.metadata?.name ?? ''} has been rebooted, boot id: ${machine?.bootId ?? ''}`;
  return {
    node: withStatus(node, { capacity, allocatable, nodeInfo }),
    ...(rebooted && { events: [{ type: 'Warning' as const, reason: 'Rebooted', message }] }),
  };
}

type NodeInfo = NonNullable<NodeStatus['nodeInfo']>;

const noInfo: NodeInfo = {
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
  containerRuntimeVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  operatingSystem: '',
  architecture: '',
};

const isAnother = (before: string | undefined, now: string): boolean =>
  before !== undefined && before !== '' && before !== now;

function identityOf(machine: MachineInfo | undefined, before: NodeInfo | undefined): Partial<NodeInfo> {
  if (!machine) return before ?? {};
  const { machineId, systemUuid, bootId, swapCapacity = 0 } = machine;
  return {
    machineID: machineId,
    systemUUID: systemUuid,
    bootID: bootId,
    ...(swapCapacity > 0 && { swap: { capacity: swapCapacity } }),
  };
}

function capacityOf(node: Node, settings: MachineSettings): ResourceList {
  const { machine, maxPods, podsPerCore, storage, devices } = settings;
  const before = node.status?.capacity ?? {};
  if (!machine) return { ...before, cpu: '0', memory: '0', pods: podsText(maxPods) };
  const pods = podsPerCore > 0 ? Math.min(machine.numCores * podsPerCore, maxPods) : maxPods;
  const ephemeral = storage['ephemeral-storage'];
  return {
    ...before,
    cpu: formatQuantity(milliQuantity(machine.numCores * 1000)),
    memory: formatQuantity(quantityOf(machine.memoryCapacity, 'BinarySI')),
    ...hugePages(machine),
    pods: podsText(pods),
    ...(ephemeral !== undefined && { 'ephemeral-storage': ephemeral }),
    ...devices?.capacity,
    ...Object.fromEntries((devices?.removed ?? []).map((name) => [name, '0'])),
  };
}

/** Formats a number of pods like the API: 1000 pods are `1k`. */
const podsText = (pods: number): string => formatQuantity(quantityOf(pods));

/** Returns the amounts in canonical form, as the API server returns them, to avoid differences to the Node. */
const canonical = (list: ResourceList): ResourceList =>
  Object.fromEntries(
    Object.entries(list).map(([name, amount]) => [name, formatQuantity(parseQuantity(amount))]),
  );

function hugePages(machine: MachineInfo): ResourceList {
  const sizes = (machine.hugePages ?? []).map(({ pageSizeKib, count }) => {
    const bytes = BigInt(pageSizeKib) * 1024n;
    return [
      `hugepages-${formatQuantity(quantityOf(bytes, 'BinarySI'))}`,
      formatQuantity(quantityOf(bytes * BigInt(count), 'BinarySI')),
    ];
  });
  return Object.fromEntries(sizes) as ResourceList;
}

function allocatableOf(
  capacity: ResourceList,
  before: ResourceList,
  { machine, reservation, devices }: MachineSettings,
): ResourceList {
  const result: Record<string, string> = {};
  for (const [name, amount] of Object.entries(before)) {
    if (Object.hasOwn(capacity, name) || !isExtendedResource(name)) setOwn(result, name, amount);
  }
  for (const [name, amount] of Object.entries(capacity)) {
    const reserved = ownMember(reservation, name);
    setOwn(
      result,
      name,
      reserved === undefined ? notNegative(parseQuantity(amount)) : less(amount, reserved),
    );
  }
  if (machine) Object.assign(result, devices?.allocatable);
  for (const [name, amount] of Object.entries(capacity)) {
    if (isHugePageResource(name)) result['memory'] = less(result['memory'] ?? '0', amount);
  }
  return result;
}

const less = (amount: string, reserved: string): string =>
  notNegative(subQuantities(parseQuantity(amount), parseQuantity(reserved)));

const notNegative = (amount: Quantity): string => (signOfQuantity(amount) < 0 ? '0' : formatQuantity(amount));
