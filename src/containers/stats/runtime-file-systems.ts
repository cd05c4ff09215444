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

async function measured(usage: FilesystemUsage | undefined): Promise<RuntimeFileSystem> {
  const mountpoint = usage?.fsId?.mountpoint ?? '';
  if (mountpoint === '') throw new AgentError('unavailable', 'the runtime does not say where its images are');
  const [{ dev }, fs] = await Promise.all([stat(mountpoint), statfs(mountpoint)]).catch((cause: unknown) => {
    throw AgentError.from(cause, 'unavailable');
  });
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
