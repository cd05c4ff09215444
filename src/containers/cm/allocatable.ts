import { ownMember, setOwn, tableOf } from '../../base/own.ts';
import { goQuote } from '../../go/go-quote.ts';
import { milliCpuToShares } from '../../kube/cgroup.ts';
import {
  addQuantities,
  compareQuantities,
  isZeroQuantity,
  milliValueOf,
  parseQuantity,
  type Quantity,
  quantityOf,
  signOfQuantity,
  subQuantities,
  valueOf,
  zeroQuantity,
} from '../../kube/resources/quantity.ts';
import { type Amounts, podRequests, qosClassOf } from '../../kube/resources/resources.ts';
import type { Pod } from '../../kube/types.ts';

/** A hard eviction threshold: an absolute amount, or a share of the capacity. */
export interface HardThreshold {
  readonly signal: string;
  readonly quantity?: string;
  /** Share of the capacity, from 0 to 1. */
  readonly percentage?: number;
}

/** Amounts withheld from pods: for system daemons, for Kubernetes daemons and for eviction. */
export interface ReservedAmounts {
  readonly system: Amounts;
  readonly kube: Amounts;
  readonly hardEviction: readonly HardThreshold[];
}

const thresholdResources: Readonly<Record<string, string>> = tableOf({
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
});

/**
 * Returns the amount that hard eviction thresholds reserve, so that eviction starts before the machine runs out (kubelet
 * `hardEvictionReservation`).
 */
export function evictionReservation(thresholds: readonly HardThreshold[], capacity: Amounts): Amounts {
  const result: Record<string, Quantity> = {};
  for (const { signal, quantity, percentage = 0 } of thresholds) {
    const resource = thresholdResources[signal];
    if (resource === undefined) continue;
    const whole = valueOf(ownMember(capacity, resource) ?? zeroQuantity);
    setOwn(
      result,
      resource,
      quantity !== undefined && quantity !== ''
        ? parseQuantity(quantity)
        : quantityOf(Math.trunc(whole * Math.fround(percentage)), 'BinarySI'),
    );
  }
  return result;
}

/**
 * Returns the sum of the system, kube and eviction reservations, for resources that the machine has (kubelet
 * `GetNodeAllocatableReservation`).
 */
export function allocatableReservation(capacity: Amounts, reserved: ReservedAmounts): Amounts {
  const parts = [reserved.system, reserved.kube, evictionReservation(reserved.hardEviction, capacity)];
  const result: Record<string, Quantity> = {};
  for (const name of Object.keys(capacity)) {
    const sum = parts.reduce(
      (total, part) => addQuantities(total, ownMember(part, name) ?? zeroQuantity),
      zeroQuantity,
    );
    if (!isZeroQuantity(sum)) setOwn(result, name, sum);
  }
  return result;
}

/** Returns the upper bound of what pods may use: capacity minus the system and kube reservations (kubelet `GetNodeAllocatableAbsolute`). */
export function allocatableAbsolute(
  capacity: Amounts,
  { system, kube }: Pick<ReservedAmounts, 'system' | 'kube'>,
): Amounts {
  const result: Record<string, Quantity> = {};
  for (const [name, amount] of Object.entries(capacity)) {
    const rest = [system, kube].reduce((left, part) => {
      const reserved = ownMember(part, name);
      return reserved ? subQuantities(left, reserved) : left;
    }, amount);
    setOwn(result, name, signOfQuantity(rest) < 0 ? zeroQuantity : rest);
  }
  return result;
}

/**
 * Returns a message, worded as in the kubelet, for each reservation that exceeds the machine's capacity (kubelet
 * `validateNodeAllocatable`).
 */
export function validateReservation(capacity: Amounts, reservation: Amounts): readonly string[] {
  return Object.entries(reservation)
    .filter(([name, amount]) => compareQuantities(ownMember(capacity, name) ?? zeroQuantity, amount) < 0)
    .map(
      ([name, amount]) =>
        `Resource ${goQuote(name)} has a reservation of ${goText(amount)} but capacity of ` +
        `${goText(ownMember(capacity, name) ?? zeroQuantity)}. Expected capacity >= reservation.`,
    );
}

/** Formats the fields of a quantity as Go's `%v` prints them. */
const goText = ({ unscaled, exponent, text = '', format }: Quantity): string =>
  `{{${unscaled} ${exponent}} {<nil>} ${text} ${format}}`;

/** Limits of a cgroup; an absent member is not limited. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** Bytes. */
  readonly memory?: number;
  readonly pids?: number;
}

/** Returns the limits of the cgroup that holds all pods (kubelet `getCgroupConfigInternal`). */
export function cgroupLimits({ cpu, memory, pid }: Amounts): CgroupLimits {
  return {
    ...(cpu && { cpuShares: milliCpuToShares(milliValueOf(cpu)) }),
    ...(memory && { memory: valueOf(memory) }),
    ...(pid && { pids: valueOf(pid) }),
  };
}

/** Returns the CPU shares of the burstable and best-effort cgroups (kubelet `setCPUCgroupConfig`). */
export function qosCpuShares(activePods: readonly Pod[]): {
  readonly burstable: number;
  readonly bestEffort: number;
} {
  const milli = activePods
    .filter((pod) => qosClassOf(pod) === 'Burstable')
    .reduce((sum, pod) => sum + milliValueOf(podRequests(pod)['cpu'] ?? zeroQuantity), 0);
  return { burstable: milliCpuToShares(milli), bestEffort: 2 };
}
