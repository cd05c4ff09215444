import { tableOf } from '../base/own.ts';
import { AgentError } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';

const label = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${label}(?:\\.${label})*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?`;
const component = '[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*';
const digestText = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const grammar = new RegExp(
  `^((?:${domain}/)?${component}(?:/${component})*)(?::([\\w][\\w.-]{0,127}))?(?:@(${digestText}))?$`,
);

/** Number of hexadecimal digits of a digest by algorithm. */
const digestLengths: Readonly<Record<string, number>> = tableOf({ sha256: 64, sha384: 96, sha512: 128 });

/**
 * Returns the image reference for the runtime: with `:latest` when it has neither tag nor digest.
 * Follows `applyDefaultImageTag` (pkg/kubelet/images) and the normalized form of the distribution reference grammar.
 *
 * @throws {AgentError} `invalid_argument` when it is not a valid image reference
 */
export function withDefaultTag(image: string): string {
  return referenceOf(image).named ? image : `${image}:latest`;
}

/**
 * Returns the image with its registry and without tag and digest, for credential lookups. Follows `parsers.ParseImageName`.
 *
 * @throws {AgentError} `invalid_argument` when it is not a valid image reference
 */
export function repositoryOf(image: string): string {
  return referenceOf(image).repository;
}

/** Returns the default pull policy of an image: `Always` with the tag `:latest` or none, otherwise `IfNotPresent`. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  if (imageFault(image) !== undefined) return 'IfNotPresent';
  const { named, tag } = referenceOf(image);
  return !named || tag === 'latest' ? 'Always' : 'IfNotPresent';
}

interface Reference {
  readonly repository: string;
  readonly tag: string | undefined;
  /** True with a tag or digest. */
  readonly named: boolean;
}

function referenceOf(image: string): Reference {
  const fault = imageFault(image);
  if (fault !== undefined)
    throw new AgentError('invalid_argument', `couldn't parse image name ${goQuote(image)}: ${fault}`);
  const [, repository = '', tag, digest] = grammar.exec(normalized(image)) ?? [];
  return { repository, tag, named: tag !== undefined || digest !== undefined };
}

/** Splits the registry host off: the part before the first slash when it looks like a host, otherwise Docker Hub. */
function split(image: string): readonly [host: string, rest: string] {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isHost = /[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first;
  const [host, rest] = slash >= 0 && isHost ? [first, image.slice(slash + 1)] : ['docker.io', image];
  if (host !== 'docker.io' && host !== 'index.docker.io') return [host, rest];
  return ['docker.io', rest.includes('/') ? rest : `library/${rest}`];
}

const normalized = (image: string): string => split(image).join('/');

/** Returns the part after the registry host, to which the length limit applies. */
const pathOf = (repository: string): string => repository.slice(repository.indexOf('/') + 1);

/** Returns why a text is not a valid image reference; `undefined` when it is. */
export function imageFault(image: string): string | undefined {
  if (/^[a-f0-9]{64}$/.test(image))
    return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  const [, rest] = split(image);
  const colon = rest.indexOf(':');
  const remote = colon < 0 ? rest : rest.slice(0, colon);
  if (remote.toLowerCase() !== remote)
    return `invalid reference format: repository name (${remote}) must be lowercase`;
  const match = grammar.exec(normalized(image));
  return match ? matchFault(match) : 'invalid reference format';
}

/**
 * Returns why a text is not a valid image reference as written: registry and tag are not completed. Follows distribution `reference.Parse`.
 */
export function imageNameFault(name: string): string | undefined {
  const match = grammar.exec(name);
  if (match) return matchFault(match);
  return grammar.test(name.toLowerCase()) ? 'repository name must be lowercase' : 'invalid reference format';
}

/** True for an image reference without tag and digest. */
export const isBareName = (name: string): boolean => grammar.exec(name)?.[1] === name;

function matchFault([, repository = '', , digest]: RegExpExecArray): string | undefined {
  if (pathOf(repository).length > 255) return 'repository name must not be more than 255 characters';
  return digest === undefined ? undefined : digestFault(digest);
}

function digestFault(digest: string): string | undefined {
  const [algorithm = '', hex = ''] = digest.split(':');
  const length = digestLengths[algorithm];
  if (length === undefined) return 'unsupported digest algorithm';
  if (hex.length !== length) return 'invalid checksum digest length';
  return /^[a-f0-9]+$/.test(hex) ? undefined : 'invalid checksum digest format';
}
