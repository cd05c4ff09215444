import { extname } from 'node:path';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { AgentError, messageOf } from '../base/errors.ts';
import { type DecodedManifest, decodeManifest, type DecodeManifest } from './static-pod.ts';

/** Input of the thread: the arguments of {@link decodeManifest}. */
export type DecodeOrder = Parameters<DecodeManifest>;

/** Length of a manifest, in characters, that is decoded in some tenths of a second. */
const longestOnTheSpot = 128 * 1024;

/**
 * Returns a decoder that decodes large manifests in a thread of their own, since one of 10 MiB takes many seconds and hundreds of MiB. It
 * throws an {@link AgentError} `resource_exhausted` when the thread or its memory is not available.
 */
export const decodingAside =
  (limits: ResourceLimits = {}): DecodeManifest =>
  (...order) =>
    order[1].length <= longestOnTheSpot ? decodeManifest(...order) : inThread(order, limits);

function inThread(order: DecodeOrder, resourceLimits: ResourceLimits): Promise<DecodedManifest> {
  const program = new URL(`./decode-thread${extname(import.meta.url)}`, import.meta.url);
  return new Promise((resolve, reject) => {
    const thread = new Worker(program, { workerData: order, resourceLimits });
    thread.unref(); // the agent does not wait for it when it exits
    thread.once('message', resolve);
    thread.once('error', (cause) => {
      const message = `the manifest is too large to be decoded here: ${messageOf(cause)}`;
      reject(new AgentError('resource_exhausted', message, { cause }));
    });
  });
}
