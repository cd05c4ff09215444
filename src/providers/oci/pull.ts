import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, rmSync, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentError } from '../../base/errors.ts';
import { type Descriptor, parseManifest, selectPlatform } from './documents.ts';
import type { PullImage } from './image-service.ts';
import { parseReference } from './reference.ts';
import { RegistryClient } from './registry-client.ts';
import { digestOf, type ImageStore } from './store.ts';
import type { LockClock } from './store-lock.ts';

/** The number of blobs of one image that are fetched at the same time. */
const parallelBlobs = 3;
/** The number of attempts of a blob without progress. */
const attempts = 4;

/** Returns what pulls images from registries into a store. @param arch of the machine, in the words of Node.js */
export const pullInto =
  (store: ImageStore, { arch, clock }: { readonly arch: string; readonly clock: LockClock }): PullImage =>
  async (name, options) => {
    const reference = parseReference(name);
    const client = new RegistryClient(reference, { clock, ...options });
    const { signal } = options;
    let digest = await manifestInto(store, client, reference.digest ?? reference.tag ?? 'latest', name);
    const parsed = parseManifest(store.document(digest), `the manifest of ${name}`);
    if (parsed.index) {
      const own = selectPlatform(parsed.index, arch, name);
      digest = await manifestInto(store, client, own.digest, name);
    }
    const { manifest } = parseManifest(store.document(digest), `the manifest of ${name}`);
    if (!manifest) throw new AgentError('invalid_argument', `${name}: an index in an index is not supported`);
    const left = [manifest.config, ...manifest.layers];
    const worker = async (): Promise<void> => {
      for (let blob = left.shift(); blob; blob = left.shift()) await blobInto(store, client, blob, signal);
    };
    await Promise.all(Array.from({ length: parallelBlobs }, worker));
    return store.add(digest, [reference.name], signal);
  };

/** Stores a manifest; one named by digest must have it. */
async function manifestInto(
  store: ImageStore,
  client: RegistryClient,
  key: string,
  name: string,
): Promise<string> {
  const bytes = await client.manifest(key);
  if (key.includes(':') && digestOf(bytes, key) !== key)
    throw new AgentError(
      'invalid_argument',
      `${name}: digest mismatch: expected ${key}, the manifest has ${digestOf(bytes, key)}`,
    );
  return store.addDocument(bytes);
}

/** Fetches a blob into its partial file, continuing what is there, and accepts it when its digest is right. */
async function blobInto(
  store: ImageStore,
  client: RegistryClient,
  { digest, size }: Descriptor,
  signal?: AbortSignal,
): Promise<void> {
  if (store.hasBlob(digest)) return;
  const path = store.partialPath(digest);
  for (let failures = 0, before = bytesOf(path); bytesOf(path) < size; before = bytesOf(path)) {
    try {
      await continueBlob(client, { digest, size, path }, signal);
    } catch (reason) {
      signal?.throwIfAborted();
      const error = AgentError.from(reason, 'unavailable');
      failures = bytesOf(path) > before ? 1 : failures + 1;
      if (error.code !== 'unavailable' || failures >= attempts) throw error;
      await client.pause(failures);
    }
  }
  const hash = createHash(digest.split(':')[0] ?? '');
  for await (const part of createReadStream(path) as AsyncIterable<Buffer>) hash.update(part);
  const found = `${digest.split(':')[0] ?? ''}:${hash.digest('hex')}`;
  if (found !== digest) rmSync(path, { force: true });
  store.acceptBlob(path, digest, found);
}

async function continueBlob(
  client: RegistryClient,
  { digest, size, path }: { readonly digest: string; readonly size: number; readonly path: string },
  signal?: AbortSignal,
): Promise<void> {
  const response = await client.blob(digest, bytesOf(path));
  if (!response.body) throw new AgentError('unavailable', `blob ${digest}: the response is empty`);
  const flags = response.status === 206 ? 'a' : 'w';
  let left = size - (flags === 'a' ? bytesOf(path) : 0);
  const bounded = async function* (parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const part of parts) {
      left -= part.length;
      if (left < 0)
        throw new AgentError('invalid_argument', `blob ${digest} has more than its ${size} bytes`);
      yield part;
    }
  };
  const body = Readable.fromWeb(response.body);
  await pipeline(body, bounded, createWriteStream(path, { flags, mode: 0o600, flush: true }), {
    ...(signal && { signal }),
  });
  if (left > 0) throw new AgentError('unavailable', `blob ${digest}: the response ended ${left} bytes early`);
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
