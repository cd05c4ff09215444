import { tableOf } from '../../base/own.ts';
import { readdir, readFile, statfs } from 'node:fs/promises';
import {
  arch,
  availableParallelism,
  hostname,
  networkInterfaces,
  platform,
  release,
  totalmem,
} from 'node:os';
import { join } from 'node:path';
import { formatQuantity, quantityOf } from '../../kube/resources/quantity.ts';

/** Huge pages of one size that the kernel has allocated. */
interface HugePages {
  readonly pageSizeKib: number;
  readonly count: number;
}

/** Measured properties of this machine. */
export interface MeasuredMachine {
  readonly machine: {
    readonly numCores: number;
    /** Bytes. */
    readonly memoryCapacity: number;
    /** Bytes; 0 without swap. */
    readonly swapCapacity?: number;
    readonly machineId: string;
    readonly systemUuid: string;
    readonly bootId: string;
    readonly hugePages?: readonly HugePages[];
  };
  readonly system: {
    readonly kernelVersion: string;
    readonly osImage: string;
    readonly operatingSystem: string;
    /** Architecture by Go's name: `amd64`, `arm64`. */
    readonly architecture: string;
  };
  readonly hostname: string;
  /** `ephemeral-storage` of the file system that contains `root`. */
  readonly storage: Readonly<Record<string, string>>;
  /** Maximum number of processes and threads; absent: unknown. */
  readonly mostProcesses?: number;
  /** Non-loopback addresses of its interfaces, IPv4 first. */
  readonly addresses: readonly string[];
}

const goArch: Readonly<Record<string, string>> = tableOf({
  x64: 'amd64',
  ia32: '386',
  arm64: 'arm64',
  arm: 'arm',
});

/** Measures this machine; unavailable values are left empty. @param root directory whose file system holds the pods' data */
export async function measureMachine(root: string): Promise<MeasuredMachine> {
  const [machineId, systemUuid, bootId, osRelease, memory] = await Promise.all([
    text('/etc/machine-id'),
    text('/sys/class/dmi/id/product_uuid'),
    text('/proc/sys/kernel/random/boot_id'),
    text('/etc/os-release'),
    text('/proc/meminfo'),
  ]);
  const swapKib = Number(/^SwapTotal:\s+(\d+)/m.exec(memory)?.[1] ?? 0);
  const most = await mostProcesses();
  const files = await statfs(root).catch(() => undefined);
  const bytes = files ? BigInt(files.blocks) * BigInt(files.bsize) : undefined;
  return {
    machine: {
      numCores: availableParallelism(),
      memoryCapacity: totalmem(),
      swapCapacity: swapKib * 1024,
      machineId,
      systemUuid: systemUuid === '' ? machineId : systemUuid,
      bootId,
      hugePages: await hugePagesIn('/sys/kernel/mm/hugepages'),
    },
    system: {
      kernelVersion: release(),
      osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease)?.[1] ?? platform(),
      operatingSystem: platform() === 'win32' ? 'windows' : platform(),
      architecture: goArch[arch()] ?? arch(),
    },
    hostname: hostname().toLowerCase(),
    storage:
      bytes === undefined ? {} : { 'ephemeral-storage': formatQuantity(quantityOf(bytes, 'BinarySI')) },
    ...(most !== undefined && { mostProcesses: most }),
    addresses: reachable(),
  };
}

/** Returns the lower of the kernel's two process limits (kubelet `pidlimit.Stats`). */
export async function mostProcesses(): Promise<number | undefined> {
  const names = ['pid_max', 'threads-max'];
  const texts = await Promise.all(names.map((name) => text(`/proc/sys/kernel/${name}`)));
  const bounds = texts.filter((bound) => /^\d+$/.test(bound)).map(Number);
  return bounds.length === 0 ? undefined : Math.min(...bounds);
}

function reachable(): readonly string[] {
  const found = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const outside = found.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return [
    ...outside.filter(({ family }) => family === 'IPv4'),
    ...outside.filter(({ family }) => family === 'IPv6'),
  ].map(({ address }) => address);
}

/** Returns the huge pages of each size of the kernel, largest first; the number may be 0. @param folder the kernel's directory */
export async function hugePagesIn(folder: string): Promise<readonly HugePages[]> {
  const names = await readdir(folder).catch(() => []);
  const sizes = names.flatMap((name) => {
    const pageSizeKib = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    return pageSizeKib > 0 ? [{ name, pageSizeKib }] : [];
  });
  const pages = sizes.map(async ({ name, pageSizeKib }) => ({
    pageSizeKib,
    count: Number(await text(join(folder, name, 'nr_hugepages'))) || 0,
  }));
  return (await Promise.all(pages)).sort((a, b) => b.pageSizeKib - a.pageSizeKib);
}

async function text(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim();
}
