import { stat, statfs } from 'node:fs/promises';
import { AgentError } from '../../base/errors.ts';
import type { ImageService } from '../../provider/container-runtime.ts';
import type { FilesystemUsage } from '../../provider/cri-messages.ts';

/** A file system that a runtime keeps things on. Bytes. */
export interface RuntimeFileSystem {
  readonly mountpoint: string;
  /** Tells file systems apart, as `st_dev`. */
  readonly device: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** Of the runtime's things alone. */
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

/** Where images and the containers' writable layers lie; often the same. */
export interface RuntimeFileSystems {
  readonly images: RuntimeFileSystem;
  readonly containers: RuntimeFileSystem;
}

/**
 * Asks the runtime where it keeps images and containers, and the kernel how full that is (kubelet `ImageFsStats`).
 *
 * @throws {AgentError} `unavailable` when the runtime does not tell yet, or tells of a place that is not on this machine
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
