import { untilAborted } from '../../base/abort.ts';
import { AgentError } from '../../base/errors.ts';
import { Slots } from '../../base/slots.ts';
import { downloadBlob } from './blob-download.ts';
import { type Descriptor, type Manifest, parseManifest, selectPlatform } from './documents.ts';
import type { PullImage, PullOptions } from './image-service.ts';
import { parseReference } from './reference.ts';
import { RegistryClient } from './registry-client.ts';
import { type FindEndpoints, registryItself } from './registry-hosts.ts';
import type { RegistryTransport } from './registry-transport.ts';
import { digestOf, type ImageStore } from './store.ts';
import type { LockClock } from './store-lock.ts';

/** The number of blobs of one image that are fetched at the same time. */
const parallelBlobs = 3;
/** The number of blobs of all images that are fetched at the same time. */
const parallelDownloads = 6;

/** Dependencies of pulls. */
export interface PullDeps {
  /** The machine's architecture, in the words of Node.js. */
  readonly arch: string;
  readonly clock: LockClock;
  readonly transport: RegistryTransport;
  /** Default: registries have no mirrors. */
  readonly endpoints?: FindEndpoints;
}

/**
 * Returns what pulls images from registries into a store. Pulls that run at the same time fetch a blob that they share once.
 *
 * @throws {AgentError} `not_found`, `unauthenticated` and `unavailable` as the registry answers; `invalid_argument` for content that is not valid
 */
export function pullInto(store: ImageStore, deps: PullDeps): PullImage {
  const downloads = new Downloads(store);
  return async (name, options) => new Pull(store, { ...deps, downloads }, { ...options, name }).run();
}

/** One pull of one image. */
class Pull {
  readonly #store: ImageStore;
  readonly #deps: PullDeps & { readonly downloads: Downloads };
  readonly #options: PullOptions & { readonly name: string };
  readonly #client: RegistryClient;

  constructor(
    store: ImageStore,
    deps: PullDeps & { readonly downloads: Downloads },
    options: PullOptions & { readonly name: string },
  ) {
    this.#store = store;
    this.#deps = deps;
    this.#options = options;
    const { clock, transport, endpoints = registryItself } = deps;
    const { auth, signal, name } = options;
    const reference = parseReference(name);
    this.#client = new RegistryClient(reference, {
      clock,
      transport,
      endpoints: endpoints(reference.registry),
      ...(auth && { auth }),
      ...(signal && { signal }),
    });
  }

  async run(): ReturnType<PullImage> {
    const { name, signal, onProgress } = this.#options;
    const { digest: pinned, tag = 'latest', name: full } = parseReference(name);
    const { digest, manifest } = await this.#manifest(pinned ?? tag);
    const blobs = uniqueBlobs(manifest);
    this.#store.checkSize(blobs, `image ${name}`);
    onProgress?.({
      type: 'resolved',
      digest,
      blobs: blobs.map((blob) => ({
        digest: blob.digest,
        size: blob.size,
        present: this.#store.hasBlob(blob.digest),
      })),
    });
    await this.#fetch(blobs);
    return this.#store.add(digest, [full], {
      ...(signal && { signal }),
      ...(onProgress && {
        onLayer: (layer, layers) => {
          onProgress({ type: 'unpack', layer, layers });
        },
      }),
    });
  }

  /** Stores the manifest for this machine, from an index where there is one. */
  async #manifest(key: string): Promise<{ readonly digest: string; readonly manifest: Manifest }> {
    const { name } = this.#options;
    const what = `the manifest of ${name}`;
    let digest = await this.#document(key);
    let parsed = parseManifest(this.#store.document(digest), what);
    if (parsed.index) {
      const own = selectPlatform(parsed.index, this.#deps.arch, name);
      ({ digest } = own);
      if (!this.#store.hasBlob(digest)) await this.#document(digest);
      parsed = parseManifest(this.#store.document(digest), what);
    }
    if (parsed.manifest) return { digest, manifest: parsed.manifest };
    throw new AgentError('invalid_argument', `${name}: an index in an index is not supported`);
  }

  /**
   * Stores a manifest; one named by digest must have it. The registry is asked even for one that is there, as it decides whether these credentials may
   * have the image.
   */
  async #document(key: string): Promise<string> {
    const isDigest = key.includes(':');
    const bytes = await this.#client.manifest(key);
    if (isDigest && digestOf(bytes, key) !== key)
      throw new AgentError(
        'invalid_argument',
        `${this.#options.name}: digest mismatch: expected ${key}, the manifest has ${digestOf(bytes, key)}`,
      );
    return this.#store.addDocument(bytes, isDigest ? key : undefined);
  }

  /** Fetches blobs, some at a time; the first failure ends the others. */
  async #fetch(blobs: readonly Descriptor[]): Promise<void> {
    const { signal, onProgress } = this.#options;
    const failed = new AbortController();
    const all = AbortSignal.any([failed.signal, ...(signal ? [signal] : [])]);
    const queue = [...blobs];
    const worker = async (): Promise<void> => {
      for (let blob = queue.shift(); blob && !all.aborted; blob = queue.shift()) {
        const { digest, size } = blob;
        await this.#deps.downloads.fetch(blob, this.#client, {
          signal: all,
          onBytes: (bytes) => onProgress?.({ type: 'blob', digest, bytes, size }),
        });
        onProgress?.({ type: 'blob', digest, bytes: size, size });
      }
    };
    const workers = Array.from({ length: parallelBlobs }, () =>
      worker().catch((reason: unknown) => {
        if (!failed.signal.aborted) failed.abort(reason);
      }),
    );
    await Promise.all(workers);
    all.throwIfAborted();
  }
}

const uniqueBlobs = ({ config, layers }: Manifest): readonly Descriptor[] => [
  ...new Map([config, ...layers].map((blob) => [blob.digest, blob])).values(),
];

interface FetchOptions {
  readonly signal: AbortSignal;
  readonly onBytes: (bytes: number) => void;
}

/** Downloads fetches each blob once, however many pulls want it, and limits how many are fetched at the same time. */
class Downloads {
  readonly #store: ImageStore;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #slots = new Slots(parallelDownloads);

  constructor(store: ImageStore) {
    this.#store = store;
  }

  /** Returns when the blob is in the store. A pull that waits for another's download fetches the blob itself when that one fails. */
  async fetch(blob: Descriptor, client: RegistryClient, { signal, onBytes }: FetchOptions): Promise<void> {
    const { digest } = blob;
    for (let other = this.#running.get(digest); other; other = this.#running.get(digest))
      await untilAborted(
        other.catch(() => undefined),
        signal,
      );
    signal.throwIfAborted();
    if (this.#store.hasBlob(digest)) return;
    const own = this.#slots.run(() => downloadBlob(this.#store, blob, { client, signal, onBytes }), signal);
    this.#running.set(digest, own);
    await own.finally(() => this.#running.delete(digest));
  }
}
