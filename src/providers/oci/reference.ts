import { repositoryOf, withDefaultTag } from '../../kube/image-reference.ts';

/** An image reference in full: `busybox` is `docker.io/library/busybox:latest`. */
export interface ImageReference {
  readonly registry: string;
  /** The path below the registry. */
  readonly path: string;
  readonly tag?: string;
  readonly digest?: string;
  /** The reference in full. */
  readonly name: string;
}

const ending = /^(?::([\w][\w.-]{0,127}))?(?:@([a-z0-9]+:[0-9a-f]+))?$/;

/** Parses an image reference. @throws {AgentError} `invalid_argument` when it is not valid */
export function parseReference(image: string): ImageReference {
  const repository = repositoryOf(image);
  const tagged = withDefaultTag(image);
  const rest = tagged.slice(tagged.lastIndexOf('/') + 1).replace(/^[^:@]*/, '');
  const [, tag, digest] = ending.exec(rest) ?? [];
  const slash = repository.indexOf('/');
  return {
    registry: repository.slice(0, slash),
    path: repository.slice(slash + 1),
    ...(tag !== undefined && { tag }),
    ...(digest !== undefined && { digest }),
    name: `${repository}${rest}`,
  };
}
