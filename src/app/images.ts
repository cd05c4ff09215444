import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { silentLogger } from '../base/logger.ts';
import { DockerKeyring } from '../containers/credentials/docker-keyring.ts';
import { nodeDockerConfig } from '../containers/credentials/node-config.ts';
import { type DockerConfig, readDockerConfigJson } from '../kube/docker-config.ts';
import { repositoryOf } from '../kube/image-reference.ts';
import type { AuthConfig } from '../provider/cri-messages.ts';
import {
  importImages,
  type ImageStore,
  openStore,
  pullInto,
  type PullProgress,
  type StoredImage,
} from '../providers/oci/index.ts';
import { readContainers } from '../providers/process/index.ts';
import { ociDir } from './oci-dir.ts';
import { registries } from './registries.ts';

export type { PullProgress, StoredImage };

/** Settings of Images. */
export interface ImagesSettings {
  readonly dataDir: string;
  /** See `ociRegistryConfig`. */
  readonly registryConfig?: string;
  readonly credentials?: PullCredentials;
}

/** Where the credentials of a pull come from. Default: the Docker configuration of the node, as for an agent. */
export interface PullCredentials {
  /** A user's name and password. */
  readonly auth?: AuthConfig;
  /** A file in the format of Docker's `config.json`. */
  readonly authFile?: string;
}

/** An image of the store, and the number of containers that were created from it. */
export interface ImageView extends StoredImage {
  readonly containers: number;
}

/** What is reported while an image is fetched or imported. */
export interface ImageOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: PullProgress) => void;
}

/** Images gives commands access to the image store of an agent, which may be running. */
export class Images {
  readonly #settings: ImagesSettings;
  readonly #store: ImageStore;

  constructor(settings: ImagesSettings) {
    this.#settings = settings;
    const uid = process.getuid?.() ?? 0;
    this.#store = openStore({ dataDir: this.#dir }, { clock: systemClock, uid });
  }

  /** Lists the images in the order of their first tags. */
  list(): readonly ImageView[] {
    const containers = this.#containers();
    const count = (id: string): number => containers.filter((other) => other === id).length;
    return this.#store
      .list()
      .map((image) => ({ ...image, containers: count(image.id) }))
      .sort((a, b) => ((a.tags[0] ?? '~') < (b.tags[0] ?? '~') ? -1 : 1));
  }

  /**
   * Pulls an image with each of its credentials, until a registry accepts one; without credentials when there are none.
   *
   * @throws {AgentError} as the last attempt
   */
  async pull(name: string, options: ImageOptions = {}): Promise<StoredImage> {
    const { registryConfig } = this.#settings;
    const reached = registries(registryConfig);
    const pull = pullInto(this.#store, { ...reached, clock: systemClock });
    const candidates = this.#credentialsFor(name);
    try {
      for (const auth of candidates.slice(0, -1)) {
        try {
          return await pull(name, { ...options, ...(auth && { auth }) });
        } catch (reason) {
          if (!(reason instanceof AgentError) || reason.code !== 'unauthenticated') throw reason;
        }
      }
      const last = candidates.at(-1);
      return await pull(name, { ...options, ...(last && { auth: last }) });
    } finally {
      await reached.transport.close();
    }
  }

  /** Imports the images of an archive or an OCI layout. @param name replaces the names in it */
  import(
    file: string,
    options: ImageOptions & { readonly name?: string } = {},
  ): Promise<readonly StoredImage[]> {
    const { onProgress, ...rest } = options;
    return importImages(this.#store, file, {
      arch: process.arch,
      ...rest,
      ...(onProgress && {
        onBlob: (digest, size) => {
          onProgress({ type: 'blob', digest, bytes: size, size });
        },
        onLayer: (layer, layers) => {
          onProgress({ type: 'unpack', layer, layers });
        },
      }),
    });
  }

  /** Removes a name, or an image by its id. @throws {AgentError} `not_found`; `failed_precondition` when containers use it */
  async remove(name: string): Promise<void> {
    const removed = await this.#store.remove(name, () => new Set(this.#containers()));
    if (!removed)
      throw new AgentError('not_found', `image ${JSON.stringify(name)} is not in the image store`);
  }

  /**
   * Removes what no image uses and, with `unused`, images that no container uses.
   *
   * @returns the removed images, and the freed bytes of blobs
   */
  async collect(options: {
    readonly unused: boolean;
    /** ms since the image was first stored; younger images stay */
    readonly olderThanMs: number;
  }): Promise<{ readonly images: readonly StoredImage[]; readonly bytes: number }> {
    const removed: StoredImage[] = [];
    const before = systemClock.now() - options.olderThanMs;
    const candidates = this.list().filter(
      ({ containers, createdAt }) => containers === 0 && createdAt <= before,
    );
    for (const image of options.unused ? candidates : []) {
      try {
        await this.remove(image.id);
        removed.push(image);
      } catch (reason) {
        // a container was created from it, or someone else removed it
        if (!(reason instanceof AgentError) || !['failed_precondition', 'not_found'].includes(reason.code))
          throw reason;
      }
    }
    const bytes = await this.#store.collect(() => new Set(this.#containers()));
    const rest = new Set(this.#store.list().flatMap(({ blobs }) => blobs));
    const own = removed.filter(({ blobs }) => !blobs.every((digest) => rest.has(digest)));
    return { images: removed, bytes: bytes + own.reduce((sum, { size }) => sum + size, 0) };
  }

  get #dir(): string {
    return ociDir(this.#settings.dataDir);
  }

  /** Returns the image of each container. */
  #containers(): readonly string[] {
    return readContainers(this.#dir).flatMap(({ image }) => image?.id ?? []);
  }

  #credentialsFor(name: string): readonly (AuthConfig | undefined)[] {
    const { auth, authFile } = this.#settings.credentials ?? {};
    if (auth) return [auth];
    const keyring = new DockerKeyring();
    keyring.add(authFile === undefined ? nodeConfig() : readAuthFile(authFile));
    const matching = keyring.lookup(repositoryOf(name)).map((credential) => credential.auth);
    return matching.length === 0 ? [undefined] : matching;
  }
}

/** Returns the node's own credentials: of `$DOCKER_CONFIG`, otherwise of the places where the kubelet looks. */
function nodeConfig(): DockerConfig {
  const { DOCKER_CONFIG: dir = '', HOME: home = '' } = process.env;
  if (dir !== '') return readAuthFile(join(dir, 'config.json'));
  return nodeDockerConfig({ clock: systemClock, logger: silentLogger, rootDir: '/var/lib/kubelet', home })();
}

function readAuthFile(path: string): DockerConfig {
  try {
    return readDockerConfigJson(readFileSync(resolve(path), 'utf8'));
  } catch (cause) {
    throw new AgentError('invalid_argument', `${path}: ${messageOf(cause)}`, { cause });
  }
}
