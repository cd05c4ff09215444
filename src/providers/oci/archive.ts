import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { elementsBelow } from '../../base/files/below.ts';
import { removeTree } from '../../base/files/remove-tree.ts';
import {
  type Descriptor,
  isDigest,
  maxDocumentBytes,
  parseImageConfig,
  parseManifest,
  selectPlatform,
} from './documents.ts';
import { elementsInRoot } from './in-root.ts';
import type { AddOptions, ImageStore, StoredImage } from './store.ts';
import { decompressors, readTar } from './tar-entries.ts';
import { writeContent } from './write-content.ts';

/** Limits of an imported archive. */
export interface ArchiveLimits {
  /** bytes of all files in it */
  readonly maxBytes: number;
  /** files and links in it */
  readonly maxEntries: number;
}

/** 256 GiB in 100,000 files: an archive holds some files for each layer of its images. */
export const defaultArchiveLimits: ArchiveLimits = { maxBytes: 256 * 2 ** 30, maxEntries: 100_000 };

/** The maximum depth of indexes in indexes of an OCI layout, below its own. */
const maxIndexDepth = 3;

/** How an archive is imported. */
export interface ImportOptions {
  /** The machine's architecture, in the words of Node.js. */
  readonly arch: string;
  /** The name of the image, in place of those in the archive. */
  readonly name?: string;
  /** Default: {@link defaultArchiveLimits} */
  readonly limits?: ArchiveLimits;
  readonly signal?: AbortSignal;
  /** See {@link AddOptions}. */
  readonly onLayer?: AddOptions['onLayer'];
  /** Called for each blob that is stored. */
  readonly onBlob?: (digest: string, bytes: number) => void;
}

/**
 * Imports images from a file of `docker save` or of an OCI layout (`skopeo copy … oci-archive:`), compressed or not, or from the directory
 * of an OCI layout.
 *
 * @throws {AgentError} `invalid_argument` for something else, or content whose digests are wrong; `resource_exhausted` beyond the limits
 */
export async function importImages(
  store: ImageStore,
  path: string,
  options: ImportOptions,
): Promise<readonly StoredImage[]> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) throw new AgentError('not_found', `there is no file ${path}`);
  if (stat.isDirectory()) return importFolder(store, path, { ...options, source: path });
  const folder = join(
    store.dir,
    'partial',
    `import-${process.pid}-${createHash('sha256').update(`${path}${stat.mtimeMs}`).digest('hex').slice(0, 16)}`,
  );
  await removeTree(folder);
  mkdirSync(folder, { mode: 0o700 });
  try {
    await untar(path, folder, options);
    return await importFolder(store, folder, { ...options, source: path });
  } finally {
    await removeTree(folder);
  }
}

/** Writes the regular files of an archive; its links are resolved as its own, as `docker save` links equal layers. */
async function untar(
  path: string,
  folder: string,
  { signal, limits = defaultArchiveLimits }: ImportOptions,
): Promise<void> {
  const links: { readonly from: string; readonly to: string }[] = [];
  let [entries, bytes] = [0, 0];
  await readTar(path, { what: path, signal }, async (entry, content) => {
    const { name, kind, linkname } = entry;
    entries++;
    bytes += entry.sparse?.realSize ?? entry.size;
    if (entries > limits.maxEntries)
      throw new AgentError('resource_exhausted', `${path} has more than ${limits.maxEntries} entries`);
    if (bytes > limits.maxBytes)
      throw new AgentError(
        'resource_exhausted',
        `${path} has more than ${limits.maxBytes} bytes of files (at ${JSON.stringify(name)})`,
      );
    const elements = elementsBelow(name, 'an entry of the archive');
    const target = join(folder, ...elements);
    const from = elements.join('/');
    if (kind === 'file') {
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
      const fd = openSync(target, 'w', 0o600);
      try {
        await writeContent(fd, entry, content);
      } finally {
        closeSync(fd);
      }
    } else if (kind === 'link') links.push({ from, to: linkname });
    else if (kind === 'symlink') links.push({ from, to: join(dirname(from), linkname) });
  });
  for (const { from, to } of links) linkWithin(folder, from, to);
}

/** Gives a file of the archive another name; as a hard link, it takes no further space however many there are. */
function linkWithin(folder: string, from: string, to: string): void {
  const source = join(folder, ...elementsBelow(to, 'a link of the archive'));
  if (lstatSync(source, { throwIfNoEntry: false })?.isFile() !== true) return;
  const target = join(folder, ...elementsBelow(from, 'an entry of the archive'));
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  if (target === source) return;
  rmSync(target, { force: true });
  linkSync(source, target);
}

interface FolderImport extends ImportOptions {
  /** Where the user has it from, for messages. */
  readonly source: string;
}

async function importFolder(
  store: ImageStore,
  folder: string,
  options: FolderImport,
): Promise<readonly StoredImage[]> {
  const index = documentIn(folder, 'index.json');
  if (index && documentIn(folder, 'oci-layout')) return importLayout(store, folder, index, options);
  const manifest = documentIn(folder, 'manifest.json');
  if (manifest) return importDocker(store, folder, manifest, options);
  throw new AgentError(
    'invalid_argument',
    `${options.source} holds no images: neither index.json with oci-layout (OCI) nor manifest.json (docker save)`,
  );
}

/** Imports an OCI layout: every image of its index that has a name, or the only one. */
async function importLayout(
  store: ImageStore,
  folder: string,
  index: Buffer,
  options: FolderImport,
): Promise<readonly StoredImage[]> {
  const what = `index.json of ${options.source}`;
  const { index: descriptors } = parseManifest(index, what);
  if (!descriptors || descriptors.length === 0)
    throw new AgentError('invalid_argument', `${what}: there are no manifests`);
  const images: StoredImage[] = [];
  const groups = new Map<string, Descriptor[]>();
  for (const descriptor of descriptors) {
    const name = options.name ?? nameOf(descriptor, options.source);
    groups.set(name, [...(groups.get(name) ?? []), descriptor]);
  }
  for (const [name, candidates] of groups) {
    const descriptor =
      candidates.length === 1 ? candidates[0] : selectPlatform(candidates, options.arch, what);
    if (descriptor) images.push(await importDescriptor(store, folder, { descriptor, name }, options));
  }
  return images;
}

/** Returns the name of an image of a layout; an annotation without a registry and a repository is a tag only. */
function nameOf({ annotations = {} }: Descriptor, source: string): string {
  const full = annotations['io.containerd.image.name'];
  const reference = annotations['org.opencontainers.image.ref.name'];
  if (full !== undefined) return full;
  if (reference !== undefined && /[/:]/.test(reference)) return reference;
  const file = source.split('/').findLast((part) => part !== '') ?? 'image';
  const bare = file
    .toLowerCase()
    .replace(/(?:\.tar)?(?:\.(?:gz|zst))?$|\.tgz$/, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return `${bare === '' ? 'image' : bare}:${reference ?? 'latest'}`;
}

async function importDescriptor(
  store: ImageStore,
  folder: string,
  {
    descriptor,
    name,
    depth = 0,
  }: { readonly descriptor: Descriptor; readonly name: string; readonly depth?: number },
  options: FolderImport,
): Promise<StoredImage> {
  const what = `manifest ${descriptor.digest} of ${options.source}`;
  if (depth > maxIndexDepth)
    throw new AgentError('resource_exhausted', `${what}: indexes are nested more than ${maxIndexDepth} deep`);
  await storeBlob(store, folder, descriptor, options);
  const parsed = parseManifest(store.document(descriptor.digest), what);
  if (parsed.index) {
    const own = selectPlatform(parsed.index, options.arch, what);
    return importDescriptor(store, folder, { descriptor: own, name, depth: depth + 1 }, options);
  }
  const { config, layers } = parsed.manifest;
  for (const blob of [config, ...layers]) await storeBlob(store, folder, blob, options);
  return store.add(descriptor.digest, [name], addOptions(options));
}

const addOptions = ({ signal, onLayer }: ImportOptions): AddOptions => ({
  ...(signal && { signal }),
  ...(onLayer && { onLayer }),
});

async function storeBlob(
  store: ImageStore,
  folder: string,
  { digest, size }: Descriptor,
  { source, signal, onBlob }: FolderImport,
): Promise<void> {
  if (store.hasBlob(digest)) return;
  const path = join(folder, 'blobs', ...digest.split(':'));
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    throw new AgentError('invalid_argument', `${source} lacks blob ${digest}`);
  await store.addBlob({ digest, size }, createReadStream(path), signal);
  onBlob?.(digest, size);
}

interface DockerEntry {
  readonly Config: string;
  readonly RepoTags?: readonly string[] | null;
  readonly Layers: readonly string[];
}

/** Imports an archive of `docker save`: a manifest is made for each image, as the archive has none. */
async function importDocker(
  store: ImageStore,
  folder: string,
  text: Buffer,
  options: FolderImport,
): Promise<readonly StoredImage[]> {
  const images: StoredImage[] = [];
  for (const entry of dockerEntries(text, options.source)) {
    const config = documentIn(folder, entry.Config);
    if (!config) throw new AgentError('invalid_argument', `${options.source} lacks ${entry.Config}`);
    const { diffIds } = parseImageConfig(config, `${entry.Config} of ${options.source}`);
    const layers: Descriptor[] = [];
    for (const [at, layer] of entry.Layers.entries())
      layers.push(await dockerLayer(store, folder, { layer, diffId: diffIds[at] ?? '' }, options));
    const configDigest = store.addDocument(config);
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    const manifest = {
      schemaVersion: 2,
      mediaType,
      config: {
        mediaType: 'application/vnd.oci.image.config.v1+json',
        digest: configDigest,
        size: config.length,
      },
      layers,
    };
    const digest = store.addDocument(Buffer.from(JSON.stringify(manifest)));
    const names = options.name === undefined ? (entry.RepoTags ?? []) : [options.name];
    images.push(await store.add(digest, names, addOptions(options)));
  }
  return images;
}

async function dockerLayer(
  store: ImageStore,
  folder: string,
  { layer, diffId }: { readonly layer: string; readonly diffId: string },
  { source, signal, onBlob }: FolderImport,
): Promise<Descriptor> {
  const path = join(folder, ...elementsInRoot(folder, layer));
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) throw new AgentError('invalid_argument', `${source} lacks ${layer}`);
  const hash = createHash('sha256');
  for await (const part of createReadStream(path) as AsyncIterable<Buffer>) hash.update(part);
  const digest = `sha256:${hash.digest('hex')}`;
  const packed = (await decompressors(path)).length > 0;
  if (!packed && isDigest(diffId) && digest !== diffId)
    throw new AgentError(
      'invalid_argument',
      `${layer} of ${source} has digest ${digest}, the image's configuration names ${diffId}`,
    );
  if (!store.hasBlob(digest))
    await store.addBlob({ digest, size: stat.size }, createReadStream(path), signal);
  onBlob?.(digest, stat.size);
  const mediaType = `application/vnd.oci.image.layer.v1.tar${packed ? '+gzip' : ''}`;
  return { mediaType, digest, size: stat.size };
}

function dockerEntries(text: Buffer, source: string): readonly DockerEntry[] {
  const what = `manifest.json of ${source}`;
  let entries: unknown;
  try {
    entries = JSON.parse(text.toString());
  } catch {
    throw new AgentError('invalid_argument', `${what}: not JSON`);
  }
  if (!Array.isArray(entries)) throw new AgentError('invalid_argument', `${what}: not a list`);
  for (const [at, entry] of (entries as readonly unknown[]).entries()) {
    const {
      Config: config,
      Layers: layers,
      RepoTags: tags,
    } = (entry ?? {}) as Partial<Record<keyof DockerEntry, unknown>>;
    const isTexts = (value: unknown): boolean =>
      Array.isArray(value) && value.every((item) => typeof item === 'string');
    if (typeof config !== 'string' || !isTexts(layers) || (tags != null && !isTexts(tags)))
      throw new AgentError('invalid_argument', `${what}: [${at}] lacks Config or Layers`);
  }
  return entries as readonly DockerEntry[];
}

/** Reads a small file of an unpacked archive; `undefined` when it is not there. */
function documentIn(folder: string, name: string): Buffer | undefined {
  const path = join(folder, ...elementsInRoot(folder, name));
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) return undefined;
  if (stat.size > maxDocumentBytes)
    throw new AgentError(
      'invalid_argument',
      `${name} has ${stat.size} bytes, at most ${maxDocumentBytes} are read`,
    );
  return readFileSync(path);
}
