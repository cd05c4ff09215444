import { podResource } from '../api/resources.ts';
import type { Clock } from '../base/clock.ts';
import { nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import { PodNode } from './node/pod-node.ts';
import { BrokenClause, type ProviderWorld, soonMsOf } from './world.ts';
import type { PodProvider } from '../provider/provider.ts';

/** What a {@link TrialNode} is made of. */
export interface TrialNodeParts {
  readonly world: ProviderWorld;
  readonly clock: Clock;
  /** The provider of the agent that starts. */
  readonly provider: () => PodProvider;
  readonly pass: (ms: number) => Promise<void>;
  /** Called with each pod that is created. */
  readonly onCreated: (pod: Pod) => void;
}

/** A node around the provider of a clause: an agent's controller, and the API server that holds its pods. */
export class TrialNode {
  readonly #parts: TrialNodeParts;
  readonly #node: PodNode;
  readonly #phases = new Map<string, string[]>();
  readonly #listeners = new Map<string, (pod: Pod) => void>();

  constructor(parts: TrialNodeParts) {
    this.#parts = parts;
    this.#node = new PodNode(parts.clock, ({ controller }) => {
      parts.world.useProbes?.({
        liveness: { get: (id) => controller.engines.probeManager.results.liveness.get(id) },
        startup: { get: (id) => controller.engines.probeManager.results.startup.get(id) },
      });
      return parts.provider();
    });
    this.#node.api.onPodChange(({ entry }) => {
      this.#changed(entry.object);
    });
  }

  #changed(pod: Pod): void {
    const uid = uidOf(pod);
    const phases = this.#phases.get(uid) ?? [];
    this.#phases.set(uid, phases);
    const { phase } = pod.status ?? {};
    if (phase !== undefined && phases.at(-1) !== phase) phases.push(phase);
    this.#listeners.get(uid)?.(pod);
  }

  start(): Promise<void> {
    return this.#node.start();
  }

  /** Ends the agent; pods go on running. */
  stop(): Promise<void> {
    return this.#node.stop();
  }

  /** Creates a pod on the node. @returns it as the API server has it, with its own UID */
  create(pod: Pod): Pod {
    const { uid: _, namespace = 'default', ...metadata } = pod.metadata ?? {};
    const { containers = [], ...spec } = pod.spec ?? {};
    const object = { metadata, spec: { nodeName: 'n', ...spec, containers } };
    const created = this.#node.api.create(podResource, object, namespace) as Pod;
    this.#changed(created);
    this.#parts.onCreated(created);
    return created;
  }

  delete(pod: Pod, gracePeriodSeconds: number): void {
    this.#node.delete(nameOf(pod), gracePeriodSeconds);
  }

  /** Puts a label on a pod, as users do. */
  label(pod: Pod, label: string): void {
    this.#node.update(nameOf(pod), (old) => ({
      ...old,
      metadata: { ...old.metadata, labels: { ...old.metadata?.labels, [label]: '' } },
    }));
  }

  /** The pod at the API server; `undefined` when it is gone. */
  pod(pod: Pod): Pod | undefined {
    const uid = uidOf(pod);
    return this.#node.api.pods().find((one) => uidOf(one) === uid && namespaceOf(one) === namespaceOf(pod));
  }

  /** The phases that the pod has had, in order. */
  phases(pod: Pod): readonly string[] {
    return this.#phases.get(uidOf(pod)) ?? [];
  }

  /** Calls `listener` with each change of the pod from now on. */
  onChange(pod: Pod, listener: (pod: Pod) => void): void {
    this.#listeners.set(uidOf(pod), listener);
  }

  /** Lets time pass until `holds` is true. @throws {BrokenClause} after `withinMs` */
  async until(
    holds: () => boolean,
    seen: () => string,
    withinMs: number = 2 * soonMsOf(this.#parts.world),
  ): Promise<void> {
    const end = this.#parts.clock.now() + withinMs;
    while (!holds()) {
      if (this.#parts.clock.now() >= end) throw new BrokenClause(`${seen()} after ${withinMs} ms`);
      await this.#parts.pass(200);
    }
  }
}
