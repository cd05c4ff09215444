import { hash } from 'node:crypto';
import { writeDurablySoon } from '../base/files/durable-file.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { readIfThere } from '../base/files/read-if-there.ts';
import type { PodResourceMap, ResourceKeeper } from '../kube/resources/pod-resources.ts';
import { decodeResourceCheckpoint, encodeResourceCheckpoint } from '../kube/resources/resource-checkpoint.ts';

/**
 * CheckpointFile stores the pods' allocated resources in a file with the kubelet's format. Calls during a write share the next write.
 *
 * @throws {AgentError} `failed_precondition` when the file is damaged, because the pods' resources cannot be guessed
 */
export class CheckpointFile implements ResourceKeeper {
  readonly before: PodResourceMap;
  readonly #path: string;
  /** The digest of the file's content, which with thousands of pods is half a megabyte. */
  #digest: string | undefined;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
    const text = readIfThere(path);
    this.#digest = text === undefined ? undefined : digestOf(text);
    this.before = text === undefined ? {} : restored(path, text);
  }

  save(state: () => PodResourceMap): Promise<void> {
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        this.#running = this.#write(encodeResourceCheckpoint(state()));
        return this.#running;
      });
    return this.#next;
  }

  async #write(text: string): Promise<void> {
    const digest = digestOf(text);
    if (digest === this.#digest) return;
    await writeDurablySoon(this.#path, text);
    this.#digest = digest;
  }
}

const digestOf = (text: string): string => hash('sha256', text);

function restored(path: string, text: string): PodResourceMap {
  try {
    return decodeResourceCheckpoint(text);
  } catch (cause) {
    throw new AgentError(
      'failed_precondition',
      `could not restore state from checkpoint: ${messageOf(cause)}, please drain this node and delete pod resource information checkpoint file "${path}" before restarting Kubelet`,
      { cause },
    );
  }
}
