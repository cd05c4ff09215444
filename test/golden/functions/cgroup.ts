import {
  type CgroupDriver,
  cgroupFromPath,
  cgroupFromSlice,
  type CgroupName,
  cgroupPath,
  isSystemdStyle,
  kubepodsCgroup,
  milliCpuToQuota,
  milliCpuToShares,
  podCgroup,
  podUidOfCgroup,
  quotaToMilliCpu,
  sharesToMilliCpu,
  sharesToWeight,
} from '../../../src/kube/cgroup.ts';
import { qosClassOf } from '../../../src/kube/resources/resources.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly milliCPU?: number;
  readonly shares?: number;
  readonly path?: string;
  readonly pod?: Pod;
  readonly root?: CgroupName | null;
  readonly cgroupsPerQOS?: boolean;
  readonly driver?: CgroupDriver;
}

const periods = [0, 1000, 5000, 50_000, 100_000, 1_000_000];

const conversions = (milli: number): unknown => ({
  shares: milliCpuToShares(milli),
  quotaByPeriod: Object.fromEntries(periods.map((period) => [period, milliCpuToQuota(milli, period)])),
  sharesToMilli: sharesToMilliCpu(milli),
  quotaToMilli100000: quotaToMilliCpu(milli, 100_000),
  weightOfShares: sharesToWeight(milliCpuToShares(milli)),
});

function parsed(path: string): unknown {
  const systemd = isSystemdStyle(path);
  const roots = (['cgroupfs', 'systemd'] as const).flatMap((driver) =>
    [false, true].map((perQos) => [
      `nodeAllocatableRoot/${driver}/${perQos}`,
      cgroupPath(kubepodsCgroup(cgroupFromPath(path), perQos), driver),
    ]),
  );
  return {
    fromCgroupfs: cgroupFromPath(path),
    isSystemdStyle: systemd,
    ...(systemd ? { fromSystemd: cgroupFromSlice(path) } : (Object.fromEntries(roots) as object)),
  };
}

function named({ root, cgroupsPerQOS = false, driver = 'cgroupfs' }: Input, pod: Pod): unknown {
  const name = podCgroup(kubepodsCgroup(root ?? [], cgroupsPerQOS), pod);
  return {
    cgroupName: name,
    cgroupfs: cgroupPath(name, driver),
    literal: cgroupPath(name, 'cgroupfs'),
    systemd: cgroupPath(name, 'systemd'),
    isPodCgroup: podUidOfCgroup(name) !== undefined,
    uidBack: podUidOfCgroup(name),
    qos: qosClassOf(pod),
  };
}

export const replay: Replay = ({ in: given, out }) => {
  const input = given as Input;
  const where = { operation: input };
  if (input.milliCPU !== undefined) return check(out, conversions(input.milliCPU), where);
  if (input.shares !== undefined) return check(out, { cpuWeight: sharesToWeight(input.shares) }, where);
  if (input.path !== undefined) return check(out, parsed(input.path), where);
  if (input.pod) return check(out, named(input, input.pod), where);
  throw new Error('a case that is none of the four kinds');
};
