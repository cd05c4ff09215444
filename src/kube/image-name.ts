/** The parts of an image reference that rules look at. */
export interface ImageName {
  /** `registry/path`, without tag and digest. */
  readonly repository: string;
  /** `latest` when neither tag nor digest is given; empty with a digest alone. */
  readonly tag: string;
  readonly digest: string;
}

const domainLabel = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${domainLabel}(?:\\.${domainLabel})*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?`;
const component = '[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*';
const reference = new RegExp(
  `^((?:${domain}/)?${component}(?:/${component})*)(?::([\\w][\\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
);

/**
 * Takes an image reference apart, as the distribution grammar has it; `undefined` when it is not one.
 *
 * Follows kubelet `parsers.ParseImageName`.
 */
export function parseImageName(image: string): ImageName | undefined {
  if (image.length > 4096 || /^[a-f0-9]{64}$/.test(image)) return undefined;
  const [, repository, tag = '', digest = ''] = reference.exec(image) ?? [];
  if (repository === undefined || repository.length > 255) return undefined;
  return { repository, tag: tag === '' && digest === '' ? 'latest' : tag, digest };
}

/** The pull policy of an image whose container names none: `Always` for `:latest`, else `IfNotPresent`. */
export const defaultPullPolicy = (image: string): 'Always' | 'IfNotPresent' =>
  parseImageName(image)?.tag === 'latest' ? 'Always' : 'IfNotPresent';
