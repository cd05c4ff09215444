import type { Node } from '../../kube/types.ts';
import { type SetterResult, withStatus } from './setter.ts';

/** An image of the runtime. */
export interface NodeImage {
  readonly digests: readonly string[];
  readonly tags: readonly string[];
  /** Size in bytes. */
  readonly size: number;
}

/** Maximum number of names per image in the status (R260). */
const maxNames = 5;

/**
 * Sets the images of the status, digests before tags (kubelet `nodestatus.Images`).
 *
 * @param images largest first, or the error of listing them
 * @param max maximum number in the status; -1: all
 */
export function images(node: Node, images: readonly NodeImage[] | Error, max: number): SetterResult {
  if (images instanceof Error)
    return { node: withStatus(node, { images: [] }), error: `error getting image list: ${images.message}` };
  const reported = max > -1 ? images.slice(0, max) : images;
  return {
    node: withStatus(node, {
      images: reported.map(({ digests, tags, size }) => ({
        names: [...digests, ...tags].slice(0, maxNames),
        sizeBytes: size,
      })),
    }),
  };
}
