import { AgentError, messageOf } from '../../base/errors.ts';
import {
  CgroupDriver,
  type Image,
  type RuntimeHandler,
  type StatusResponse,
} from '../../provider/cri-messages.ts';
import type { CriRuntime } from './runtime.ts';

/** An image in the node status. */
export interface NodeImage {
  readonly digests: readonly string[];
  readonly tags: readonly string[];
  /** Size in bytes. */
  readonly size: number;
}

/** Returns the runtime's images, largest first (kubelet `imageManager.GetImageList`). */
export function nodeImagesOf(images: readonly Image[]): readonly NodeImage[] {
  return images
    .toSorted(
      (a, b) =>
        (b.size ?? 0) - (a.size ?? 0) ||
        Number((b.id ?? '') > (a.id ?? '')) - Number((b.id ?? '') < (a.id ?? '')),
    )
    .map(({ repoDigests = [], repoTags = [], size = 0 }) => ({ digests: repoDigests, tags: repoTags, size }));
}

/** Features of a runtime handler. */
export interface HandlerFeatures {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** Returns the runtime's handlers for the node status; containerd before 2.0 reports none. */
export const handlersOf = ({ runtimeHandlers = [] }: StatusResponse): readonly HandlerFeatures[] =>
  runtimeHandlers.map(({ name = '', features }: RuntimeHandler) => ({
    name,
    recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
    userNamespaces: features?.userNamespaces ?? false,
  }));

/** Returns features of the runtime besides those of handlers; `undefined` when it does not report them. */
export const featuresOf = ({
  features,
}: StatusResponse): { readonly supplementalGroupsPolicy: boolean } | undefined =>
  features && { supplementalGroupsPolicy: features.supplementalGroupsPolicy ?? false };

/**
 * Checks once that both services support CRI v1.
 *
 * @throws {AgentError} with the runtime's error when it does not answer or does not support CRI v1
 */
export async function validateCri(runtime: CriRuntime, signal?: AbortSignal): Promise<void> {
  const options = signal && { signal };
  const faulty =
    (service: string) =>
    (cause: unknown): never => {
      const { code } = AgentError.from(cause);
      const text = `validate CRI v1 ${service} API for endpoint "unix://${runtime.socket}": ${messageOf(cause)}`;
      throw new AgentError(code, text, { cause });
    };
  await runtime.version({}, options).catch(faulty('runtime'));
  await runtime.imageFsInfo({}, options).catch(faulty('image'));
}

/**
 * Returns the runtime's cgroup driver, which the agent then uses too (kubelet `KubeletCgroupDriverFromCRI`).
 *
 * @returns `undefined` when the runtime does not report it; the configured driver is used then
 */
export async function cgroupDriverOf(
  runtime: Pick<CriRuntime, 'runtimeConfig'>,
  signal?: AbortSignal,
): Promise<'cgroupfs' | 'systemd' | undefined> {
  try {
    const { linux } = await runtime.runtimeConfig({}, signal && { signal });
    return linux && (linux.cgroupDriver === CgroupDriver.CGROUPFS ? 'cgroupfs' : 'systemd');
  } catch (reason) {
    if (AgentError.from(reason).code === 'unimplemented') return undefined;
    throw reason;
  }
}
