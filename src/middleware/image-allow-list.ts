import { imageFault, repositoryOf } from '../kube/image-reference.ts';
import type { Pod } from '../kube/types.ts';
import type { Middleware, PodRefusal } from '../provider/middleware.ts';
import { isSelected, type PodSelection } from './context.ts';

/** The settings of {@link imageAllowList}. */
export interface ImageAllowListSettings extends PodSelection {
  /** Digests of allowed images, such as `sha256:…`; an image that names one of them may run from any repository. */
  readonly digests?: readonly string[];
  /**
   * Allowed images: `registry.example.com/team/app` (any tag or digest), `registry.example.com/team/app:1.2`,
   * `registry.example.com/team/app@sha256:…`, or all images below a path: `registry.example.com/team/*`.
   */
  readonly images?: readonly string[];
  /** Requires images to name a digest, also those that `images` allows. Default: false. */
  readonly requireDigest?: boolean;
}

/**
 * Refuses pods with an image that is not on a list: the pod's phase becomes Failed with reason `ImageNotAllowed`. Init, main and ephemeral
 * containers count, and volumes of images.
 *
 * @example
 * imageAllowList({ images: ['registry.example.com/team/*'], requireDigest: true });
 */
export const imageAllowList = (settings: ImageAllowListSettings): Middleware => ({
  name: 'imageAllowList',
  podAddition: ({ pod }) => {
    if (!isSelected(settings, pod)) return undefined;
    const refuse = imagesOf(pod)
      .map(({ of, image }) => refusalOf(of, image, settings))
      .find((one) => one !== undefined);
    return refuse && { refuse };
  },
});

/** Returns the images that a pod uses, and what each is of. */
function imagesOf({ spec }: Pod): readonly { readonly of: string; readonly image: string }[] {
  const { initContainers = [], containers = [], ephemeralContainers = [], volumes = [] } = spec ?? {};
  return [
    ...[...initContainers, ...containers, ...ephemeralContainers].map(({ name, image = '' }) => ({
      of: `container ${JSON.stringify(name)}`,
      image,
    })),
    ...volumes.flatMap(({ name, image }) =>
      image ? [{ of: `volume ${JSON.stringify(name)}`, image: image.reference ?? '' }] : [],
    ),
  ];
}

function refusalOf(
  of: string,
  image: string,
  { digests = [], images = [], requireDigest = false }: ImageAllowListSettings,
): PodRefusal | undefined {
  const refused = (why: string): PodRefusal => ({
    reason: 'ImageNotAllowed',
    message: `image ${JSON.stringify(image)} of ${of} ${why}`,
  });
  if (imageFault(image) !== undefined) return refused(`is not a valid image reference`);
  const digest = image.includes('@') ? image.slice(image.indexOf('@') + 1) : undefined;
  if (digest !== undefined && digests.includes(digest)) return undefined;
  if (requireDigest && digest === undefined) return refused('must name a digest (image@sha256:…)');
  return images.some((pattern) => isAllowedBy(pattern, image))
    ? undefined
    : refused('is not allowed on this node');
}

function isAllowedBy(pattern: string, image: string): boolean {
  const repository = repositoryOf(image);
  // the path with its registry, as in `docker.io/library/`
  if (pattern.endsWith('/*'))
    return repository.startsWith(repositoryOf(`${pattern.slice(0, -1)}x`).slice(0, -1));
  if (imageFault(pattern) !== undefined || repositoryOf(pattern) !== repository) return false;
  const rest = (text: string): string => text.slice(text.lastIndexOf('/') + 1).replace(/^[^:@]*/, '');
  return rest(pattern) === '' || rest(pattern) === rest(image);
}
