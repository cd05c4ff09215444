import { AgentError, messageOf } from '../../base/errors.ts';
import {
  CgroupDriver,
  type Image,
  type RuntimeHandler,
  type StatusResponse,
} from '../../provider/cri-messages.ts';
import type { CriRuntime } from './runtime.ts';

/** An image as the node's status tells it. */
export interface NodeImage {
  readonly digests: readonly string[];
  readonly tags: readonly string[];
  /** Bytes. */
  readonly size: number;
}

/** The runtime's images, largest first (kubelet `imageManager.GetImageList`). */
export function nodeImagesOf(images: readonly Image[]): readonly NodeImage[] {
  return images
    .toSorted(
      (a, b) =>
        (b.size ?? 0) - (a.size ?? 0) ||
        Number((b.id ?? '') > (a.id ?? '')) - Number((b.id ?? '') < (a.id ?? '')),
    )
    .map(({ repoDigests = [], repoTags = [], size = 0 }) => ({ digests: repoDigests, tags: repoTags, size }));
}

/** What one runtime handler can do. */
export interface HandlerFeatures {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** The handlers that the runtime names, as the node's status tells them; containerd before 2.0 names none. */
export const handlersOf = ({ runtimeHandlers = [] }: StatusResponse): readonly HandlerFeatures[] =>
  runtimeHandlers.map(({ name = '', features }: RuntimeHandler) => ({
    name,
    recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
    userNamespaces: features?.userNamespaces ?? false,
  }));

/** What the runtime can do beside its handlers; `undefined`: it does not say. */
export const featuresOf = ({
  features,
}: StatusResponse): { readonly supplementalGroupsPolicy: boolean } | undefined =>
  features && { supplementalGroupsPolicy: features.supplementalGroupsPolicy ?? false };

/**
 * Asks both services once whether they speak CRI v1.
 *
 * @throws {AgentError} with the runtime's reason, when it does not answer or knows no CRI v1
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
 * How the runtime names cgroups, which the agent then follows (kubelet `KubeletCgroupDriverFromCRI`).
 *
 * @returns `undefined`: it does not say, so the configured driver counts
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
