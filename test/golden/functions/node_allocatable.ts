import { amountsOf, resourceListOf } from '../../../src/kube/resources/resources.ts';
import type { Pod } from '../../../src/kube/types.ts';
import {
  allocatableAbsolute,
  allocatableReservation,
  cgroupLimits,
  type HardThreshold,
  qosCpuShares,
  validateReservation,
} from '../../../src/containers/cm/allocatable.ts';
import { check, type Replay } from '../harness.ts';

type List = Record<string, string> | undefined;

export const replay: Replay = (line) => {
  const input = line['in'] as Record<string, unknown>;
  if ('activePods' in input) {
    const shares = qosCpuShares((input['activePods'] ?? []) as Pod[]);
    return check(line['out'], {
      burstableCPUShares: shares.burstable,
      besteffortCPUShares: shares.bestEffort,
    });
  }
  const capacity = amountsOf((input['capacity'] ?? undefined) as List);
  const thresholds = (input['hardEviction'] ?? []) as Record<string, unknown>[];
  const reserved = {
    system: amountsOf((input['systemReserved'] ?? undefined) as List),
    kube: amountsOf((input['kubeReserved'] ?? undefined) as List),
    hardEviction: thresholds.map((threshold): HardThreshold => ({
      signal: String(threshold['Signal']),
      quantity: threshold['Quantity'] as string,
      percentage: Number(threshold['Percentage'] ?? 0),
    })),
  };
  const reservation = allocatableReservation(capacity, reserved);
  const absolute = allocatableAbsolute(capacity, reserved);
  return check(line['out'], {
    reservation: resourceListOf(reservation),
    absolute: resourceListOf(absolute),
    validationErrors: [...validateReservation(capacity, reservation)].sort(),
    cgroup: cgroupLimits(absolute),
  });
};
