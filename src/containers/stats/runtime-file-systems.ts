import type { Stats, StatsFs } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { AgentError } from '../../base/errors.ts';
import type { ImageService } from '../../provider/container-runtime.ts';
import type { FilesystemUsage } from '../../provider/cri-messages.ts';

/** A file system that a runtime stores data on. Bytes. */
export interface RuntimeFileSystem {
  readonly mountpoint: string;
  /** Identifies the file system, as `st_dev` does. */
  readonly device: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** Space used by the runtime's data only. */
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

/** File systems of images and of containers' writable layers; often the same. */
export interface RuntimeFileSystems {
  readonly images: RuntimeFileSystem;
  readonly containers: RuntimeFileSystem;
}

/**
 * Returns the file systems of images and containers, with their usage from the kernel (kubelet `ImageFsStats`).
 *
 * @throws {AgentError} `unavailable` when the runtime does not report them yet, or reports a path that is not on this machine
 */
export async function runtimeFileSystems(
  service: Pick<ImageService, 'imageFsInfo'>,
  signal?: AbortSignal,
): Promise<RuntimeFileSystems> {
  const { imageFilesystems = [], containerFilesystems = [] } = await service.imageFsInfo(
    {},
    signal && { signal },
  );
  const images = await measured(imageFilesystems[0]);
  const [layers] = containerFilesystems;
  return { images, containers: layers ? await measured(layers) : images };
}

/** Returns the file system of a path and the path itself; one after the other, so that a missing path is reported the same way each time. */
async function statOf(path: string): Promise<[StatsFs, Stats]> {
  try {
    return [await statfs(path), await stat(path)];
  } catch (cause) {
    throw AgentError.from(cause, 'unavailable');
  }
}

async function measured(usage: FilesystemUsage | undefined): Promise<RuntimeFileSystem> {
  const mountpoint = usage?.fsId?.mountpoint ?? '';
  if (mountpoint === '') throw new AgentError('unavailable', 'the runtime does not say where its images are');
  const [fs, { dev }] = await statOf(mountpoint);
  const { usedBytes, inodesUsed } = usage ?? {};
  return {
    mountpoint,
    device: dev,
    capacityBytes: fs.blocks * fs.bsize,
    availableBytes: fs.bavail * fs.bsize,
    inodes: fs.files,
    inodesFree: fs.ffree,
    ...(usedBytes?.value !== undefined && { usedBytes: usedBytes.value }),
    ...(inodesUsed?.value !== undefined && { inodesUsed: inodesUsed.value }),
  };
}
