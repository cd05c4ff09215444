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

/** A hard eviction threshold: an amount, or a share of the capacity. */
export interface HardThreshold {
  readonly signal: string;
  readonly quantity?: string;
  /** 0 to 1. */
  readonly percentage?: number;
}

/** What is kept from pods. */
export interface ReservedAmounts {
  readonly system: Amounts;
  readonly kube: Amounts;
  readonly hardEviction: readonly HardThreshold[];
}

const thresholdResources: Readonly<Record<string, string>> = tableOf({
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
});

/** What must stay free for eviction to come in time (kubelet `hardEvictionReservation`). */
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

/** System, kube and eviction reservations added up, of the resources that the machine has (kubelet `GetNodeAllocatableReservation`). */
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

/** What pods may use at all: capacity without system and kube reservations (kubelet `GetNodeAllocatableAbsolute`). */
export function allocatableAbsolute(
  capacity: Amounts,
  { system, kube }: Pick<ReservedAmounts, 'system' | 'kube'>,
): Amounts {
  const result: Record<string, Quantity> = {};
  for (const [name, amount] of Object.entries(capacity)) {
    const rest = [system, kube].reduce((left, part) => {
      const taken = ownMember(part, name);
      return taken ? subQuantities(left, taken) : left;
    }, amount);
    setOwn(result, name, signOfQuantity(rest) < 0 ? zeroQuantity : rest);
  }
  return result;
}

/** Each reservation that the machine cannot give, in kubelet's words (kubelet `validateNodeAllocatable`). */
export function validateReservation(capacity: Amounts, reservation: Amounts): readonly string[] {
  return Object.entries(reservation)
    .filter(([name, amount]) => compareQuantities(ownMember(capacity, name) ?? zeroQuantity, amount) < 0)
    .map(
      ([name, amount]) =>
        `Resource ${goQuote(name)} has a reservation of ${goText(amount)} but capacity of ` +
        `${goText(ownMember(capacity, name) ?? zeroQuantity)}. Expected capacity >= reservation.`,
    );
}

/** How Go prints the inside of a quantity with `%v`. */
const goText = ({ unscaled, exponent, text = '', format }: Quantity): string =>
  `{{${unscaled} ${exponent}} {<nil>} ${text} ${format}}`;

/** Limits of a cgroup; an absent one is not set. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** Bytes. */
  readonly memory?: number;
  readonly pids?: number;
}

/** The cgroup of all pods (kubelet `getCgroupConfigInternal`). */
export function cgroupLimits({ cpu, memory, pid }: Amounts): CgroupLimits {
  return {
    ...(cpu && { cpuShares: milliCpuToShares(milliValueOf(cpu)) }),
    ...(memory && { memory: valueOf(memory) }),
    ...(pid && { pids: valueOf(pid) }),
  };
}

/** CPU shares of the two cgroups that hold the pods without guarantees (kubelet `setCPUCgroupConfig`). */
export function qosCpuShares(activePods: readonly Pod[]): {
  readonly burstable: number;
  readonly bestEffort: number;
} {
  const milli = activePods
    .filter((pod) => qosClassOf(pod) === 'Burstable')
    .reduce((sum, pod) => sum + milliValueOf(podRequests(pod)['cpu'] ?? zeroQuantity), 0);
  return { burstable: milliCpuToShares(milli), bestEffort: 2 };
}
