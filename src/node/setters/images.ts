import type { Node } from '../../kube/types.ts';
import { type SetterResult, withStatus } from './setter.ts';

/** An image that the runtime holds. */
export interface NodeImage {
  readonly digests: readonly string[];
  readonly tags: readonly string[];
  /** Bytes. */
  readonly size: number;
}

/** Names of one image that are told (R260). */
const maxNames = 5;

/**
 * Which images are here, digests before tags (kubelet `nodestatus.Images`).
 *
 * @param images largest first, or why they are not known
 * @param max how many are told; -1: all
 */
export function images(node: Node, images: readonly NodeImage[] | Error, max: number): SetterResult {
  if (images instanceof Error)
    return { node: withStatus(node, { images: [] }), error: `error getting image list: ${images.message}` };
  const told = max > -1 ? images.slice(0, max) : images;
  return {
    node: withStatus(node, {
      images: told.map(({ digests, tags, size }) => ({
        names: [...digests, ...tags].slice(0, maxNames),
        sizeBytes: size,
      })),
    }),
  };
}
