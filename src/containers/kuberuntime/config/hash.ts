import { fnv1a32 } from '../../../base/fnv.ts';
import { goStructJson } from '../../../go/go-json.ts';
import type { Container } from '../../../kube/types.ts';

/**
 * Returns the text whose hash is the container's: the JSON of image and name as Go writes it, dumped as decimal bytes.
 * Other fields do not count, so a changed command or environment restarts nothing (`HashContainer`, pkg/kubelet/container).
 */
export function containerHashInput(container: Pick<Container, 'image' | 'name'>): string {
  const json = goStructJson({ image: container.image ?? '', name: container.name });
  return `([]uint8)[${Buffer.from(json, 'utf8').join(' ')}]`;
}

/** Returns the 32-bit FNV-1a hash of {@link containerHashInput}; a running container with another hash is restarted (R176). */
export function hashContainer(container: Pick<Container, 'image' | 'name'>): number {
  return fnv1a32(containerHashInput(container));
}

/** Formats a hash for the runtime annotation: lower-case hexadecimal without padding. */
export const hashText = (hash: number): string => hash.toString(16);
