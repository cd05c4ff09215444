import type { Container, Pod, Secret } from '../../kube/types.ts';
import type { ImageSpec, PodSandboxConfig } from '../../provider/cri-messages.ts';
import type { ImageManager, NoteEvent } from './images.ts';
import { StartError } from '../container/runtime-errors.ts';

/** Pulled images of a pod's image volumes by volume name, or the error of the pull. */
export type ImageVolumes = ReadonlyMap<string, ImageSpec | StartError>;

/** The pod for which image volumes are pulled. */
export interface ImageVolumeRequest {
  readonly pod: Pod;
  readonly secrets: readonly Secret[];
  readonly sandboxConfig: PodSandboxConfig;
  readonly runtimeHandler: string;
}

/**
 * Pulls the images of a pod's image volumes. A failure is recorded for the containers that mount the volume. Follows `getImageVolumes`
 * (pkg/kubelet/kuberuntime).
 */
export async function pullImageVolumes(
  images: ImageManager,
  request: ImageVolumeRequest,
  note: NoteEvent,
  signal: AbortSignal,
): Promise<ImageVolumes> {
  const { pod, runtimeHandler } = request;
  const annotations = pod.metadata?.annotations;
  const volumes = new Map<string, ImageSpec | StartError>();
  for (const { name, image } of pod.spec?.volumes ?? []) {
    if (!image) continue;
    const { reference = '', pullPolicy: policy } = image;
    try {
      const imageRequest = { ...request, image: reference, policy };
      const { imageRef } = await images.ensureImageExists(imageRequest, note, signal);
      const spec = { image: imageRef, userSpecifiedImage: reference, runtimeHandler };
      volumes.set(name, annotations ? { ...spec, annotations } : spec);
    } catch (reason) {
      if (!(reason instanceof StartError)) throw reason;
      volumes.set(name, reason);
    }
  }
  return volumes;
}

/**
 * Returns the images that a container mounts. Follows `toKubeContainerImageVolumes`.
 *
 * @param note records an event for each image that is missing
 * @throws {StartError} of the last image that is missing
 */
export function mountedImages(
  volumes: ImageVolumes,
  { volumeMounts = [] }: Container,
  note: NoteEvent,
): ReadonlyMap<string, ImageSpec> {
  const mounted = new Map<string, ImageSpec>();
  let missing: StartError | undefined;
  for (const { name } of volumeMounts) {
    const image = volumes.get(name);
    if (image instanceof StartError) {
      note('Warning', 'Failed', `Error: ${image.reason}`);
      missing = image;
    } else if (image) mounted.set(name, image);
  }
  if (missing) throw missing;
  return mounted;
}
