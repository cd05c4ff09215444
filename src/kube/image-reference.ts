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

/** Hexadecimal digits that a digest of each known algorithm has. */
const digestLengths: Readonly<Record<string, number>> = tableOf({ sha256: 64, sha384: 96, sha512: 128 });

/**
 * The image as it is asked of the runtime: `:latest` is added when it names neither tag nor digest.
 * Follows `applyDefaultImageTag` (pkg/kubelet/images) and the normalized form of the distribution reference grammar.
 *
 * @throws {AgentError} `invalid_argument`, why it is no image reference
 */
export function withDefaultTag(image: string): string {
  return referenceOf(image).named ? image : `${image}:latest`;
}

/**
 * The image without tag and digest, with its registry: what credentials are looked up by. Follows `parsers.ParseImageName`.
 *
 * @throws {AgentError} `invalid_argument`, why it is no image reference
 */
export function repositoryOf(image: string): string {
  return referenceOf(image).repository;
}

/** The pull policy of an image whose container names none: `Always` for `:latest` and where nothing is named, else `IfNotPresent`. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  if (imageFault(image) !== undefined) return 'IfNotPresent';
  const { named, tag } = referenceOf(image);
  return !named || tag === 'latest' ? 'Always' : 'IfNotPresent';
}

interface Reference {
  readonly repository: string;
  readonly tag: string | undefined;
  /** By a tag or a digest. */
  readonly named: boolean;
}

function referenceOf(image: string): Reference {
  const fault = imageFault(image);
  if (fault !== undefined)
    throw new AgentError('invalid_argument', `couldn't parse image name ${goQuote(image)}: ${fault}`);
  const [, repository = '', tag, digest] = grammar.exec(normalized(image)) ?? [];
  return { repository, tag, named: tag !== undefined || digest !== undefined };
}

/** The registry host is whatever stands before the first slash and looks like a host; else Docker Hub. */
function split(image: string): readonly [host: string, rest: string] {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isHost = /[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first;
  const [host, rest] = slash >= 0 && isHost ? [first, image.slice(slash + 1)] : ['docker.io', image];
  if (host !== 'docker.io' && host !== 'index.docker.io') return [host, rest];
  return ['docker.io', rest.includes('/') ? rest : `library/${rest}`];
}

const normalized = (image: string): string => split(image).join('/');

/** What follows the registry host, which alone counts for the length. */
const pathOf = (repository: string): string => repository.slice(repository.indexOf('/') + 1);

/** Why a text is no image reference. */
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

/** Why a text is no image by its name alone, as it is written: neither registry nor tag is filled in. Follows distribution `reference.Parse`. */
export function imageNameFault(name: string): string | undefined {
  const match = grammar.exec(name);
  if (match) return matchFault(match);
  return grammar.test(name.toLowerCase()) ? 'repository name must be lowercase' : 'invalid reference format';
}

/** Is the image named without tag and digest? */
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
