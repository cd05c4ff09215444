import { AgentError } from '../../base/errors.ts';
import { tableOf } from '../../base/own.ts';

/** A reference to a blob. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  /** bytes */
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: Platform;
}

/** A machine that an image is for, in Go's words. */
export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

/** A manifest: one image for one platform. */
export interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** The part of an image's configuration that says how it runs. */
export interface ImageRun {
  readonly Entrypoint?: readonly string[] | null;
  readonly Cmd?: readonly string[] | null;
  readonly Env?: readonly string[] | null;
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly StopSignal?: string;
  readonly Volumes?: Readonly<Record<string, object>> | null;
}

/** An image's configuration. */
export interface ImageConfig {
  readonly os: string;
  readonly architecture: string;
  readonly run: ImageRun;
  /** Digests of the uncompressed layers. */
  readonly diffIds: readonly string[];
}

const indexTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]);
const manifestTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]);

/** The media types of manifests and indexes, for `Accept`. */
export const acceptedTypes: readonly string[] = [...manifestTypes, ...indexTypes];

/** The maximum size of a manifest, an index or a configuration, bytes; registries refuse larger manifests. */
export const maxDocumentBytes: number = 4 * 1024 * 1024;

/** The maximum number of layers of an image; overlay file systems and registries know no more. */
const maxLayers = 500;

type Json = Readonly<Record<string, unknown>>;

/**
 * Parses a manifest or an index, told apart by the media type in it or, without one, by its members.
 *
 * @param what the subject of the error message, such as `the manifest of x:1`
 * @throws {AgentError} `invalid_argument` with the name of the invalid member
 */
export function parseManifest(
  bytes: Buffer,
  what: string,
):
  | { readonly manifest: Manifest; readonly index?: never }
  | { readonly index: readonly Descriptor[]; readonly manifest?: never } {
  const top = jsonOf(bytes, what);
  const { mediaType, schemaVersion } = top;
  if (schemaVersion !== 2)
    throw fault(what, `schemaVersion is ${JSON.stringify(schemaVersion)}, only 2 is supported`);
  if (mediaType !== undefined && typeof mediaType !== 'string')
    throw fault(what, 'mediaType is not a string');
  const isIndex = mediaType === undefined ? Array.isArray(top['manifests']) : indexTypes.has(mediaType);
  if (isIndex) return { index: descriptorsOf(top['manifests'], what, 'manifests') };
  if (mediaType !== undefined && !manifestTypes.has(mediaType))
    throw fault(what, `media type ${JSON.stringify(mediaType)} is not supported`);
  const layers = descriptorsOf(top['layers'], what, 'layers');
  if (layers.length > maxLayers)
    throw fault(what, `${layers.length} layers, at most ${maxLayers} are supported`);
  return { manifest: { config: descriptorOf(top['config'], what, 'config'), layers } };
}

/** Parses an image's configuration. @throws {AgentError} `invalid_argument` with the name of the invalid member */
export function parseImageConfig(bytes: Buffer, what: string): ImageConfig {
  const top = jsonOf(bytes, what);
  const rootfs = objectOf(top['rootfs'] ?? {}, what, 'rootfs');
  const run = objectOf(top['config'] ?? {}, what, 'config');
  for (const name of ['Entrypoint', 'Cmd', 'Env'] as const) {
    const list = run[name];
    if (list != null && !isTexts(list)) throw fault(what, `config.${name} is not a list of strings`);
  }
  for (const name of ['User', 'WorkingDir', 'StopSignal'] as const)
    if (run[name] != null && typeof run[name] !== 'string')
      throw fault(what, `config.${name} is not a string`);
  const diffIds = rootfs['diff_ids'] ?? [];
  if (!isTexts(diffIds)) throw fault(what, 'rootfs.diff_ids is not a list of strings');
  diffIds.forEach((digest, at) => {
    if (!isDigest(digest)) throw fault(what, `rootfs.diff_ids[${at}] is no sha256 or sha512 digest`);
  });
  const text = (name: string): string => (typeof top[name] === 'string' ? top[name] : '');
  return { os: text('os'), architecture: text('architecture'), run, diffIds };
}

const machines: Readonly<
  Record<string, { readonly architecture: string; readonly variants?: readonly string[] }>
> = tableOf({
  x64: { architecture: 'amd64' },
  ia32: { architecture: '386' },
  arm64: { architecture: 'arm64', variants: ['v8', ''] },
  arm: { architecture: 'arm', variants: ['v7', 'v6', 'v5', ''] },
  ppc64: { architecture: 'ppc64le' },
  s390x: { architecture: 's390x' },
  riscv64: { architecture: 'riscv64' },
  loong64: { architecture: 'loong64' },
});

/**
 * Selects the manifest for a machine from an index: by architecture, then by the best variant that the machine runs.
 *
 * @param arch of the machine, in the words of Node.js
 * @throws {AgentError} `not_found` with the platforms that there are
 */
export function selectPlatform(index: readonly Descriptor[], arch: string, what: string): Descriptor {
  const { architecture, variants = [''] } = machines[arch] ?? { architecture: arch };
  const own = index.filter(
    ({ platform }) => platform?.os === 'linux' && platform.architecture === architecture,
  );
  for (const variant of variants) {
    const found = own.find(({ platform }) => (platform?.variant ?? '') === variant);
    if (found) return found;
  }
  const [first] = own;
  if (first && variants.length === 1) return first;
  const [only] = index;
  if (index.length === 1 && only?.platform === undefined && only) return only;
  const there = index.flatMap(({ platform }) => (platform ? [platformName(platform)] : []));
  throw new AgentError(
    'not_found',
    `${what}: no match for platform linux/${architecture}; there are ${there.length > 0 ? there.join(', ') : 'none'}`,
  );
}

const platformName = ({ os, architecture, variant = '' }: Platform): string =>
  [os, architecture, ...(variant === '' ? [] : [variant])].join('/');

/** True for a digest whose algorithm is supported. */
export const isDigest = (text: string): boolean =>
  /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/.test(text);

function jsonOf(bytes: Buffer, what: string): Json {
  try {
    return objectOf(JSON.parse(bytes.toString()), what, '');
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    throw fault(what, 'not JSON');
  }
}

function objectOf(value: unknown, what: string, name: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw fault(what, `${name === '' ? 'the document' : name} is not an object`);
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

function descriptorsOf(value: unknown, what: string, name: string): readonly Descriptor[] {
  if (!Array.isArray(value)) throw fault(what, `${name} is not a list`);
  return value.map((item, at) => descriptorOf(item, what, `${name}[${at}]`));
}

function descriptorOf(value: unknown, what: string, name: string): Descriptor {
  const { digest, size, mediaType, ...rest } = objectOf(value, what, name) as Partial<Descriptor>;
  if (typeof digest !== 'string' || !isDigest(digest))
    throw fault(what, `${name}.digest is no sha256 or sha512 digest`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw fault(what, `${name}.size is not a number of bytes`);
  return { ...rest, digest, size, mediaType: typeof mediaType === 'string' ? mediaType : '' };
}

const fault = (what: string, why: string): AgentError =>
  new AgentError('invalid_argument', `${what}: ${why}`);
