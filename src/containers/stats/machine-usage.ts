import { readFile, statfs } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import type { ContainerUsage, PodUsage } from '../../provider/usage.ts';
import type { FsUsage, MachineIds, NodeUsage } from './usage.ts';
import { mostProcesses } from './machine-info.ts';
import { interfaceUsage } from './interface-usage.ts';

const nanosPerTick = 1e7;

const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
const kibOf = (meminfo: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(meminfo)?.[1] ?? 0) * 1024;

/** Measures the usage of this machine. @param root directory whose file system counts as the node's */
export async function machineUsage(root: string, clock: Clock): Promise<NodeUsage> {
  const [machine, stat, meminfo, net, load, most, fs] = await Promise.all([
    machineIds(),
    read('/proc/stat'),
    read('/proc/meminfo'),
    read('/proc/net/dev'),
    read('/proc/loadavg'),
    mostProcesses(),
    fsUsage(root),
  ]);
  const total = kibOf(meminfo, 'MemTotal');
  const available = kibOf(meminfo, 'MemAvailable');
  const processes = Number(/\/(\d+)/.exec(load)?.[1]);
  return {
    at: clock.now(),
    machine,
    bootedAt: Number(/^btime (\d+)/m.exec(stat)?.[1] ?? 0) * 1000,
    cpuNanos: busyTicks(stat) * nanosPerTick,
    memoryTotalBytes: total,
    memoryAvailableBytes: available,
    memoryUsedBytes: total - kibOf(meminfo, 'MemFree'),
    workingSetBytes: total - available,
    rssBytes: kibOf(meminfo, 'AnonPages'),
    swapUsedBytes: kibOf(meminfo, 'SwapTotal') - kibOf(meminfo, 'SwapFree'),
    swapFreeBytes: kibOf(meminfo, 'SwapFree'),
    interfaces: interfaceUsage(net).toSorted((a, b) => b.rxBytes - a.rxBytes),
    ...(fs && { fs }),
    ...(!Number.isNaN(processes) && { processes }),
    ...(most !== undefined && { mostProcesses: most }),
  };
}

async function machineIds(): Promise<MachineIds> {
  const [bootId, machineId, systemUuid] = await Promise.all(
    ['/proc/sys/kernel/random/boot_id', '/etc/machine-id', '/sys/class/dmi/id/product_uuid'].map(read),
  );
  return {
    bootId: bootId?.trim() ?? '',
    machineId: machineId?.trim() ?? '',
    systemUuid: systemUuid?.trim() ?? '',
  };
}

/** Returns CPU ticks of all CPUs except idle and iowait. */
function busyTicks(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = (
    /^cpu +(.*)$/m.exec(stat)?.[1] ?? ''
  )
    .split(' ')
    .map(Number);
  return user + nice + system + irq + softIrq + steal;
}

/** Returns the usage of a path's file system; `undefined` when it cannot be read. */
export async function fsUsage(root: string): Promise<FsUsage | undefined> {
  const fs = await statfs(root).catch(() => undefined);
  if (!fs) return undefined;
  const { bsize, blocks, bfree, bavail, files, ffree } = fs;
  return {
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}

interface Reading {
  readonly at: number;
  readonly nanos: number;
  readonly rate?: number;
}

/** CpuRates computes the cores in use from two readings of a counter, at least one second apart. */
export class CpuRates {
  readonly #readings = new Map<string, Reading>();

  /** @returns nanocores; `undefined` for the first reading */
  rate(key: string, nanos: number, at: number): number | undefined {
    const last = this.#readings.get(key);
    if (!last || nanos < last.nanos) {
      this.#readings.set(key, { at, nanos });
      return undefined;
    }
    if (at - last.at < 1000) return last.rate;
    const rate = ((nanos - last.nanos) / (at - last.at)) * 1000;
    this.#readings.set(key, { at, nanos, rate });
    return rate;
  }

  /** Adds rates to pods for which the provider reports none, and drops counters of containers that no longer exist. */
  fill(pods: readonly PodUsage[]): readonly PodUsage[] {
    const seen = new Set(['node']);
    const filled = pods.map((pod) => ({
      ...pod,
      containers: pod.containers.map((one) => this.#with(one, seen)),
    }));
    this.keepOnly(seen);
    return filled;
  }

  /** Drops all other counters. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#readings.keys()) if (!keys.has(key)) this.#readings.delete(key);
  }

  #with(one: ContainerUsage, seen: Set<string>): ContainerUsage {
    seen.add(one.id);
    if (one.cpuNanoCores !== undefined || one.cpuNanos === undefined) return one;
    const cpuNanoCores = this.rate(one.id, one.cpuNanos, one.at);
    return cpuNanoCores === undefined ? one : { ...one, cpuNanoCores };
  }
}
