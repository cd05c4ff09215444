import { extname } from 'node:path';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { AgentError, messageOf } from '../base/errors.ts';
import { type DecodedManifest, decodeManifest, type DecodeManifest } from './static-pod.ts';

/** What the thread is given, as the arguments of {@link decodeManifest}. */
export type DecodeOrder = Parameters<DecodeManifest>;

/** Characters of a manifest that are decoded in some tenths of a second. */
const longestOnTheSpot = 128 * 1024;

/**
 * A decoder that takes large manifests to a thread of their own, for one of 10 MiB takes many seconds, and hundreds of MiB.
 * It throws an {@link AgentError} `resource_exhausted` where there is no thread, or not the memory that this takes.
 */
export const decodingAside =
  (limits: ResourceLimits = {}): DecodeManifest =>
  (...order) =>
    order[1].length <= longestOnTheSpot ? decodeManifest(...order) : inThread(order, limits);

function inThread(order: DecodeOrder, resourceLimits: ResourceLimits): Promise<DecodedManifest> {
  const program = new URL(`./decode-thread${extname(import.meta.url)}`, import.meta.url);
  return new Promise((resolve, reject) => {
    const thread = new Worker(program, { workerData: order, resourceLimits });
    thread.unref(); // an agent that ends does not wait for it
    thread.once('message', resolve);
    thread.once('error', (cause) => {
      const message = `the manifest is too large to be decoded here: ${messageOf(cause)}`;
      reject(new AgentError('resource_exhausted', message, { cause }));
    });
  });
}
