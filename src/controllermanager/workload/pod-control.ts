import { messageOf } from '../../base/errors.ts';
import { hasCause, isNotFound } from '../../api/client.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client, KubeObject } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { nameOf, uidOf } from './objects.ts';
import type { Pod } from './types.ts';

/** PodControl creates and deletes the pods of an owner, and records Events about it (`RealPodControl`). */
export class PodControl {
  readonly #client: Client;
  readonly #events: EventRecorder;

  constructor(client: Client, events: EventRecorder) {
    this.#client = client;
    this.#events = events;
  }

  /** Creates a pod. In a terminating namespace, where nothing can be created any more, it does nothing. */
  async create(owner: KubeObject, pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      const created = await this.#client.create(kinds.Pod, pod, { signal });
      this.#events.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${nameOf(created)}`);
    } catch (reason) {
      if (hasCause(reason, 'NamespaceTerminating')) return;
      this.#events.event(owner, 'Warning', 'FailedCreate', `Error creating: ${messageOf(reason)}`);
      throw reason;
    }
  }

  /** Deletes a pod unless it is gone. */
  async delete(owner: KubeObject, pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.delete(kinds.Pod, pod, { preconditions: { uid: uidOf(pod) }, signal });
      this.#events.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${nameOf(pod)}`);
    } catch (reason) {
      if (isNotFound(reason)) return;
      this.#events.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${messageOf(reason)}`);
      throw reason;
    }
  }
}
