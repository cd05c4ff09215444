import { createHash, randomUUID } from 'node:crypto';
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentError } from '../../base/errors.ts';
import { writeDurably } from '../../base/files/durable-file.ts';
import { removeTree } from '../../base/files/remove-tree.ts';
import {
  isDigest,
  maxDocumentBytes,
  parseImageConfig,
  parseManifest,
  type Descriptor,
  type ImageConfig,
  type Manifest,
} from './documents.ts';
import { parseReference } from './reference.ts';
import { type LockClock, StoreLock } from './store-lock.ts';
import { defaultLimits, unpackLayer, type UnpackLimits } from './unpack.ts';

/** An image in the store. */
export interface StoredImage {
  /** The digest of its configuration. */
  readonly id: string;
  /** Full references with tags, such as `docker.io/library/busybox:latest`. */
  readonly tags: readonly string[];
  /** Full references with digests. */
  readonly digests: readonly string[];
  readonly manifest: string;
  /** The digests of its blobs: manifest, configuration and layers. */
  readonly blobs: readonly string[];
  /** bytes of its blobs */
  readonly size: number;
  /** ms since the epoch */
  readonly createdAt: number;
}

/** Returns the ids of images that containers use. It is called while the store is locked. */
export type ImagesInUse = () => ReadonlySet<string>;

/** How an image is added. */
export interface AddOptions {
  readonly signal?: AbortSignal;
  /** Called before each layer is unpacked, with its number from 1. */
  readonly onLayer?: (layer: number, layers: number) => void;
}

/** Dependencies of ImageStore. */
export interface ImageStoreDeps {
  readonly dir: string;
  readonly clock: LockClock & { now(): number };
  /** True to give files their owners, which only root may. */
  readonly asRoot: boolean;
  readonly limits?: UnpackLimits;
}

/**
 * ImageStore keeps images by content: blobs by their digest, and one unpacked root file system for each image. Several processes may use one
 * store: changes are made under a lock, and everything appears at its place complete.
 */
export class ImageStore {
  readonly #deps: ImageStoreDeps;
  readonly #lock: StoreLock;
  /** The index as last read, with the identity of its file. */
  #read: { readonly stamp: string; readonly images: readonly StoredImage[] } | undefined;

  constructor(deps: ImageStoreDeps) {
    this.#deps = deps;
    for (const name of ['blobs', 'rootfs', 'partial'])
      mkdirSync(join(deps.dir, name), { recursive: true, mode: 0o711 });
    this.#lock = new StoreLock(join(deps.dir, 'lock'), deps.clock);
  }

  get dir(): string {
    return this.#deps.dir;
  }

  /** Lists the images. @throws {AgentError} `internal` when the index is damaged */
  list(): readonly StoredImage[] {
    const path = this.#indexPath;
    const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
    if (!stat) return [];
    const stamp = `${stat.ino}:${stat.mtimeNs}`;
    if (this.#read?.stamp === stamp) return this.#read.images;
    const images = imagesOf(readFileSync(path, 'utf8'), path);
    this.#read = { stamp, images };
    return images;
  }

  /** Finds an image by its id, a prefix of it, or a reference. */
  find(reference: string): StoredImage | undefined {
    const images = this.list();
    const hex = reference.replace(/^sha256:/, '');
    if (/^[0-9a-f]{12,64}$/.test(hex)) {
      const found = images.filter(({ id }) => id.startsWith(`sha256:${hex}`));
      if (found.length === 1) return found[0];
    }
    let name: string;
    try {
      ({ name } = parseReference(reference));
    } catch {
      return undefined;
    }
    const bare = name.replace(/:[^:/@]+@/, '@');
    return images.find(({ tags, digests }) => tags.includes(name) || digests.includes(bare));
  }

  /** Returns an image's configuration. */
  config({ id }: Pick<StoredImage, 'id'>): ImageConfig {
    return parseImageConfig(this.document(id), `the configuration of image ${id}`);
  }

  /** Reads a small blob. @throws {AgentError} `not_found` when it is not there, `internal` when it is damaged */
  document(digest: string): Buffer {
    const path = this.blobPath(digest);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) throw new AgentError('not_found', `the image store has no blob ${digest}`);
    if (stat.size > maxDocumentBytes)
      throw new AgentError(
        'invalid_argument',
        `blob ${digest} has ${stat.size} bytes; a manifest or configuration has at most ${maxDocumentBytes}`,
      );
    const bytes = readFileSync(path);
    if (digestOf(bytes, digest) === digest) return bytes;
    throw new AgentError(
      'internal',
      `blob ${digest} in the image store is damaged; remove the image and pull it again`,
    );
  }

  hasBlob(digest: string): boolean {
    return existsSync(this.blobPath(digest));
  }

  /** Returns the path of a blob. @throws {AgentError} `invalid_argument` for a text that is no digest */
  blobPath(digest: string): string {
    if (!isDigest(digest)) throw new AgentError('invalid_argument', `${JSON.stringify(digest)} is no digest`);
    return join(this.#deps.dir, 'blobs', digest.replace(':', '-'));
  }

  /** Returns the path where a blob is gathered until it is complete. */
  partialPath(digest: string): string {
    return `${join(this.#deps.dir, 'partial')}/${basename(this.blobPath(digest))}`;
  }

  /**
   * Gathers a blob in its partial file, which stays for a later attempt; in a file of its own while another process gathers the same blob.
   *
   * @param gather moves the file to its place with {@link acceptBlob} when it is complete
   */
  async withPartial(digest: string, gather: (path: string) => Promise<void>): Promise<void> {
    const shared = this.partialPath(digest);
    const lock = new StoreLock(`${shared}.lock`, this.#deps.clock);
    if (lock.tryTake()) {
      try {
        await gather(shared);
      } finally {
        lock.release();
      }
      return;
    }
    const own = `${shared}.${randomUUID()}`;
    try {
      await gather(own);
    } finally {
      rmSync(own, { force: true });
    }
  }

  /**
   * Stores a blob from a stream. It appears when its digest and size are right.
   *
   * @throws {AgentError} `invalid_argument` with both digests otherwise
   */
  async addBlob(
    { digest, size }: Pick<Descriptor, 'digest'> & { readonly size?: number },
    from: Readable,
    signal?: AbortSignal,
  ): Promise<void> {
    const path = join(this.#deps.dir, 'partial', randomUUID());
    try {
      const hash = createHash(digest.split(':')[0] ?? '');
      let bytes = 0;
      const measured = new Transform({
        transform: (part: Buffer, _encoding, done) => {
          bytes += part.length;
          hash.update(part);
          done(size !== undefined && bytes > size ? sizeFault(digest, size) : null, part);
        },
      });
      await pipeline(from, measured, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }), {
        ...(signal && { signal }),
      });
      if (size !== undefined && bytes !== size) throw sizeFault(digest, size);
      this.acceptBlob(path, digest, `${digest.split(':')[0] ?? ''}:${hash.digest('hex')}`);
    } finally {
      rmSync(path, { force: true });
    }
  }

  /** Stores a small blob. @param like a digest with the algorithm; default: sha256. @returns its digest */
  addDocument(bytes: Buffer, like?: string): string {
    const digest = digestOf(bytes, like);
    const path = join(this.#deps.dir, 'partial', randomUUID());
    writeFileSync(path, bytes, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(path, this.blobPath(digest));
    return digest;
  }

  /** Moves a complete file to its place. @throws {AgentError} `invalid_argument` when it has another digest */
  acceptBlob(path: string, digest: string, found: string): void {
    if (found !== digest)
      throw new AgentError(
        'invalid_argument',
        `digest mismatch: expected ${digest}, the content has ${found}`,
      );
    renameSync(path, this.blobPath(digest));
  }

  /**
   * Adds an image whose blobs are in the store: unpacks it and gives it names, which other images lose.
   *
   * @param names references with a tag or a digest
   */
  async add(
    manifestDigest: string,
    names: readonly string[],
    { signal, onLayer }: AddOptions = {},
  ): Promise<StoredImage> {
    const { manifest } = parseManifest(this.document(manifestDigest), `manifest ${manifestDigest}`);
    if (!manifest) throw new AgentError('invalid_argument', `${manifestDigest} is an index, not a manifest`);
    const place = this.rootfs(manifest.config.digest);
    const files = join(this.#deps.dir, 'partial', `rootfs-${randomUUID()}`);
    try {
      if (!existsSync(place))
        await this.#unpack(manifest, files, { ...(signal && { signal }), ...(onLayer && { onLayer }) });
      return await this.#lock.with(async () => {
        if (!existsSync(place)) moveTo(place, files);
        return this.#record(manifestDigest, manifest, names);
      }, signal);
    } finally {
      await removeTree(files);
    }
  }

  /**
   * Checks that an image's blobs, compressed as they are, are not more than an image may have unpacked.
   *
   * @throws {AgentError} `resource_exhausted` with both sizes
   */
  checkSize(blobs: readonly Pick<Descriptor, 'size'>[], what: string): void {
    const { maxBytes } = this.#deps.limits ?? defaultLimits;
    const bytes = blobs.reduce((sum, { size }) => sum + size, 0);
    if (bytes > maxBytes)
      throw new AgentError(
        'resource_exhausted',
        `${what} has ${bytes} bytes, an image has at most ${maxBytes}`,
      );
  }

  /** Returns the root file system of an image, which nothing may write to. */
  rootfs(id: string): string {
    return join(this.#deps.dir, 'rootfs', id.replace(':', '-'));
  }

  /**
   * Takes a name from an image, or removes it with all its names when it is given by id.
   *
   * @param inUse returns the ids of images that containers use
   * @returns true when it was there
   * @throws {AgentError} `failed_precondition` for an image in use
   */
  async remove(reference: string, inUse: ImagesInUse, signal?: AbortSignal): Promise<boolean> {
    return this.#lock.with(async () => {
      const image = this.find(reference);
      if (!image) return false;
      const byId = image.id.startsWith(`sha256:${reference.replace(/^sha256:/, '')}`);
      const name = byId ? '' : parseReference(reference).name;
      const tags = byId ? [] : image.tags.filter((tag) => tag !== name);
      const digests = byId || tags.length === 0 ? [] : image.digests;
      if (tags.length > 0) {
        this.#save(this.list().map((each) => (each.id === image.id ? { ...each, tags, digests } : each)));
        return true;
      }
      if (inUse().has(image.id))
        throw new AgentError('failed_precondition', `image ${reference} is in use by a container`);
      const rest = this.list().filter(({ id }) => id !== image.id);
      this.#save(rest);
      const shared = new Set(rest.flatMap(({ blobs }) => blobs));
      for (const digest of image.blobs)
        if (!shared.has(digest)) rmSync(this.blobPath(digest), { force: true });
      await removeTree(this.rootfs(image.id));
      return true;
    }, signal);
  }

  /**
   * Removes what no image and no container uses: blobs, root file systems, and what an interrupted pull left.
   *
   * @param inUse returns the ids of images that containers use
   * @returns freed bytes of blobs
   */
  async collect(inUse: ImagesInUse, signal?: AbortSignal): Promise<number> {
    return this.#lock.with(async () => this.#collect(inUse()), signal);
  }

  get #indexPath(): string {
    return join(this.#deps.dir, 'images.json');
  }

  #record(manifestDigest: string, manifest: Manifest, names: readonly string[]): StoredImage {
    const { config, layers } = manifest;
    const references = names.map(parseReference);
    const tags = references.flatMap(({ tag, digest, name }) =>
      tag !== undefined && digest === undefined ? [name] : [],
    );
    const digests = references.map(
      ({ registry, path, digest }) => `${registry}/${path}@${digest ?? manifestDigest}`,
    );
    const images = this.list();
    const before = images.find(({ id }) => id === config.digest);
    const blobs = [manifestDigest, config.digest, ...layers.map(({ digest }) => digest)];
    const image: StoredImage = {
      id: config.digest,
      tags: [...new Set([...(before?.tags ?? []), ...tags])],
      digests: [...new Set([...(before?.digests ?? []), ...digests])],
      manifest: manifestDigest,
      blobs: [...new Set([...(before?.blobs ?? []), ...blobs])],
      size: config.size + layers.reduce((sum, { size }) => sum + size, 0),
      createdAt: before?.createdAt ?? this.#deps.clock.now(),
    };
    const others = images
      .filter(({ id }) => id !== image.id)
      .map((other) => ({ ...other, tags: other.tags.filter((tag) => !tags.includes(tag)) }));
    this.#save([...others, image]);
    return image;
  }

  #save(images: readonly StoredImage[]): void {
    writeDurably(this.#indexPath, JSON.stringify({ images }));
    this.#read = undefined;
  }

  /** Unpacks an image beside its place, where it appears when it is complete. */
  async #unpack({ config, layers }: Manifest, root: string, { signal, onLayer }: AddOptions): Promise<void> {
    const { diffIds } = parseImageConfig(this.document(config.digest), `configuration ${config.digest}`);
    if (diffIds.length !== layers.length)
      throw new AgentError(
        'invalid_argument',
        `the image has ${layers.length} layers, its configuration names ${diffIds.length}`,
      );
    mkdirSync(root, { mode: 0o755 });
    const tally = { bytes: 0, entries: 0 };
    const { asRoot, limits = defaultLimits } = this.#deps;
    for (const [at, { digest }] of layers.entries()) {
      onLayer?.(at + 1, layers.length);
      const found = await unpackLayer(this.blobPath(digest), root, {
        limits,
        tally,
        asRoot,
        ...(signal && { signal }),
      });
      if (found !== diffIds[at])
        throw new AgentError(
          'invalid_argument',
          `layer ${digest} unpacks to ${found}, the image's configuration names ${diffIds[at] ?? 'nothing'}`,
        );
    }
  }

  async #collect(inUse: ReadonlySet<string>): Promise<number> {
    const images = this.list();
    const blobs = new Set(
      [...images.flatMap((image) => image.blobs), ...inUse].map((digest) => digest.replace(':', '-')),
    );
    const roots = new Set(
      [...images.map(({ id }) => id), ...inUse].map((digest) => digest.replace(':', '-')),
    );
    const { dir, clock } = this.#deps;
    let freed = 0;
    const young = (path: string): boolean => clock.now() - statSync(path).mtimeMs < partialMaxAgeMs;
    for (const name of readdirSync(join(dir, 'blobs'))) {
      const path = join(dir, 'blobs', name);
      if (blobs.has(name) || young(path)) continue;
      freed += statSync(path).size;
      rmSync(path, { force: true });
    }
    for (const name of readdirSync(join(dir, 'rootfs')))
      if (!roots.has(name)) await removeTree(join(dir, 'rootfs', name));
    for (const name of readdirSync(join(dir, 'partial'))) {
      const path = join(dir, 'partial', name);
      if (!young(path)) await removeTree(path);
    }
    return freed;
  }
}

/** Moves unpacked files to their place. @throws {AgentError} `unavailable` when others removed the image while it was added */
function moveTo(place: string, files: string): void {
  if (!existsSync(files)) throw new AgentError('unavailable', 'the image was removed while it was added');
  renameSync(files, place);
}

/** The age at which what no image uses is not part of a pull under way, ms. */
const partialMaxAgeMs = 3_600_000;

/** Returns the digest of bytes. @param like a digest with the algorithm; default: sha256 */
export function digestOf(bytes: Buffer, like = 'sha256:'): string {
  const [algorithm = ''] = like.split(':');
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`;
}

const sizeFault = (digest: string, size: number): AgentError =>
  new AgentError('invalid_argument', `blob ${digest} does not have its ${size} bytes`);

function imagesOf(text: string, path: string): readonly StoredImage[] {
  try {
    const { images } = JSON.parse(text) as { readonly images: readonly StoredImage[] };
    if (Array.isArray(images)) return images as readonly StoredImage[];
  } catch {
    // reported below
  }
  throw new AgentError(
    'internal',
    `the index of the image store is damaged: ${path}; remove it to start with an empty store`,
  );
}
