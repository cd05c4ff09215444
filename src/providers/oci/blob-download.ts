import { createHash, type Hash } from 'node:crypto';
import { createReadStream, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { AgentError } from '../../base/errors.ts';
import type { Descriptor } from './documents.ts';
import type { RegistryClient } from './registry-client.ts';
import { RegistryFault } from './registry-fault.ts';
import type { ImageStore } from './store.ts';

/** How a blob is fetched. */
export interface BlobDownloadOptions {
  readonly client: RegistryClient;
  readonly signal?: AbortSignal;
  /** Receives the number of bytes that are there. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * Fetches a blob into its partial file, continuing what is there, and moves it to its place. Its digest is computed of the bytes as they come, so that
 * a blob is never at its place with another digest; what has one is removed.
 *
 * @throws {AgentError} `invalid_argument` for another digest or size; what the client throws
 */
export async function downloadBlob(
  store: ImageStore,
  blob: Pick<Descriptor, 'digest' | 'size'>,
  options: BlobDownloadOptions,
): Promise<void> {
  await store.withPartial(blob.digest, async (path) => {
    const download = new BlobDownload(path, blob, options);
    await download.run();
    store.acceptBlob(path, blob.digest, download.digest);
  });
}

class BlobDownload {
  readonly #path: string;
  readonly #blob: Pick<Descriptor, 'digest' | 'size'>;
  readonly #options: BlobDownloadOptions;
  #hash: Hash;
  #bytes = 0;

  constructor(path: string, blob: Pick<Descriptor, 'digest' | 'size'>, options: BlobDownloadOptions) {
    this.#path = path;
    this.#blob = blob;
    this.#options = options;
    this.#hash = this.#newHash();
  }

  get digest(): string {
    return `${this.#algorithm}:${this.#hash.copy().digest('hex')}`;
  }

  async run(): Promise<void> {
    await this.#takeUp();
    const isContinued = this.#bytes > 0;
    await this.#fetch();
    if (isContinued && this.digest !== this.#blob.digest) {
      this.#begin(); // what was there may be the wrong content of another registry
      await this.#fetch();
    }
    if (this.digest !== this.#blob.digest) rmSync(this.#path, { force: true });
  }

  async #fetch(): Promise<void> {
    const { client, signal } = this.#options;
    for (let failures = 0, before = this.#bytes; this.#bytes < this.#blob.size; before = this.#bytes) {
      try {
        await this.#continue();
      } catch (reason) {
        signal?.throwIfAborted();
        failures = this.#bytes > before ? 1 : failures + 1;
        if (reason instanceof RegistryFault && reason.status === 416 && before > 0) this.#begin();
        else await client.pause(failures, reason);
      }
    }
  }

  get #algorithm(): string {
    return this.#blob.digest.split(':')[0] ?? '';
  }

  #newHash(): Hash {
    return createHash(this.#algorithm);
  }

  #begin(): void {
    rmSync(this.#path, { force: true });
    this.#hash = this.#newHash();
    this.#bytes = 0;
  }

  /** Reads what an earlier attempt has left. */
  async #takeUp(): Promise<void> {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > this.#blob.size) this.#begin();
    else if (size > 0)
      for await (const part of createReadStream(this.#path) as AsyncIterable<Buffer>) this.#count(part);
  }

  #count(part: Buffer): void {
    this.#hash.update(part);
    this.#bytes += part.length;
    this.#options.onBytes?.(this.#bytes);
  }

  async #continue(): Promise<void> {
    const { client } = this.#options;
    const { digest, size } = this.#blob;
    const response = await client.blob(digest, this.#bytes);
    const { status, body } = response;
    if (status !== 206) this.#begin();
    else if (this.#bytes !== startOf(response.header('content-range')))
      throw new AgentError('unavailable', `blob ${digest}: the response is not the part that was asked for`);
    const file = await open(this.#path, 'a', 0o600);
    try {
      for await (const part of body as AsyncIterable<Buffer>) {
        if (this.#bytes + part.length > size)
          throw new AgentError('invalid_argument', `blob ${digest} has more than its ${size} bytes`);
        await file.writeFile(part);
        this.#count(part);
      }
      await file.datasync();
    } finally {
      body.destroy();
      await file.close();
    }
    if (this.#bytes < size)
      throw new AgentError(
        'unavailable',
        `blob ${digest}: the response ended ${size - this.#bytes} bytes early`,
      );
  }
}

/** Returns the first byte of a `Content-Range`. */
const startOf = (range = ''): number => Number(/^bytes (\d+)-/.exec(range)?.[1] ?? -1);
