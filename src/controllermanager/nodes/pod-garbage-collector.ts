import { isNotFound } from '../../api/client.ts';
import { messageOf } from '../../base/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import { disruptionTarget } from '../../kube/disruption.ts';
import type { ControllerContext } from '../context.ts';
import { nameOf, namespaceOf, uidOf } from '../workload/objects.ts';
import type { Pod } from '../workload/types.ts';
import type { NodeDeps } from './node-monitor.ts';
import { periodic } from './periodic.ts';
import { patchPodStatus } from './pod-status.ts';
import { excessTerminated, outOfService, Quarantine, unscheduledTerminating } from './pod-collection.ts';

/** The time between two collections, ms. */
const periodMs = 20_000;

/** Starts the controller that deletes pods without a working kubelet: those of nodes that are gone, and terminated ones in excess. */
export function addPodGarbageCollector({ manager, clock }: ControllerContext): void {
  const { client, apiReader: reader, logger } = manager;
  const collector = new PodGarbageCollector({ client, reader, clock, logger });
  const name = 'pod-garbage-collector-controller';
  manager.add(periodic((signal) => collector.pass(signal), { name, periodMs, clock, logger }));
}

type Deps = Omit<NodeDeps, 'events'>;

/** PodGarbageCollector deletes pods at once, without their kubelets. */
export class PodGarbageCollector {
  readonly #deps: Deps;
  readonly #quarantine = new Quarantine();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async pass(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#deps;
    const pods = await client.list(kinds.Pod, { signal });
    const nodes = await client.list(kinds.Node, { signal });
    await this.#deleteAll(excessTerminated(pods), signal);
    await this.#deleteAll(outOfService(pods, nodes), signal);
    for (const name of this.#quarantine.missing(pods, nodes, clock.now()))
      if (!(await this.#exists(name, signal))) {
        const orphans = pods.filter(({ spec }) => spec?.nodeName === name);
        await this.#deleteAll(orphans, signal, 'PodGC: node no longer exists');
      }
    await this.#deleteAll(unscheduledTerminating(pods), signal);
  }

  async #exists(name: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#deps.reader.get(kinds.Node, { name }, { signal });
      return true;
    } catch (reason) {
      if (isNotFound(reason)) return false;
      throw reason;
    }
  }

  async #deleteAll(pods: readonly Pod[], signal: AbortSignal, disruption?: string): Promise<void> {
    for (const pod of pods)
      try {
        await this.#delete(pod, signal, disruption);
      } catch (reason) {
        if (signal.aborted) throw reason;
        if (!isNotFound(reason))
          this.#deps.logger.warn('cannot delete a pod', {
            pod: `${namespaceOf(pod)}/${nameOf(pod)}`,
            err: messageOf(reason),
          });
      }
  }

  /** Deletes a pod; one that has not ended fails first. */
  async #delete(pod: Pod, signal: AbortSignal, disruption: string | undefined): Promise<void> {
    const { client, clock } = this.#deps;
    const uid = uidOf(pod);
    const generation = pod.metadata?.generation;
    if (pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed') {
      const status = {
        phase: 'Failed',
        ...(generation !== undefined && { observedGeneration: generation }),
        ...(disruption !== undefined && {
          conditions: [
            disruptionTarget(pod, { reason: 'DeletionByPodGC', message: disruption, now: clock.now() }),
          ],
        }),
      };
      await patchPodStatus(client, pod, status, signal);
    }
    await client.delete(kinds.Pod, pod, { gracePeriodSeconds: 0, preconditions: { uid }, signal });
  }
}
