import type { Image } from '../../provider/cri-messages.ts';

/** The user that an image runs as, by number or by name. */
export interface ImageUser {
  readonly uid?: number;
  readonly username?: string;
}

/** Returns the image's user; an image without one runs as root (`getImageUser`). */
export function imageUserOf(image: Pick<Image, 'uid' | 'username'> | undefined): ImageUser {
  if (image?.uid) return { uid: image.uid.value ?? 0 };
  return image?.username ? { username: image.username } : { uid: 0 };
}
