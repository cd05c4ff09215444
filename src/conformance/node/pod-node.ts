import { Subject } from 'rxjs';
import { podResource } from '../../api/resources.ts';
import { AgentError } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { settle } from '../../base/fake-clock.ts';
import { silentLogger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { PodConfig, SourcesReady } from '../../config/pod-config.ts';
import type { SourceSnapshot } from '../../config/pod-update.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { uidOf } from '../../kube/names.ts';
import type { Node, Pod, PodSpec } from '../../kube/types.ts';
import { PodsController } from '../../pods/pods-controller.ts';
import type { PodProvider } from '../../provider/provider.ts';
import { LocalApi } from './local-api.ts';

const node: Node = {
  metadata: { name: 'n', uid: 'node-uid', labels: { 'kubernetes.io/os': 'linux' } },
  status: { allocatable: { cpu: '1000', memory: '1000Gi', pods: '10000' } },
};

const counted = (): Random => {
  let serial = 0;
  const hex = (digits: number): string => (++serial).toString(16).padStart(digits, '0').slice(-digits);
  return {
    float: () => 0.5,
    uuid: () => `00000000-0000-4000-8000-${hex(12)}`,
    hex: (bytes) => hex(bytes * 2),
  };
};

/** The context for the provider of a {@link PodNode}. */
export interface PodNodeParts {
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly api: LocalApi;
  /** The controller that the provider is made for; it does not run yet. */
  readonly controller: PodsController;
}

/** One run of the agent. */
interface Life {
  readonly controller: PodsController;
  readonly config: PodConfig;
  readonly source: Subject<SourceSnapshot>;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

/**
 * A node in this process around a pod provider: a pods controller over the rules and the store of the embedded API server. Pods are created and
 * deleted through `api` as users do; `restart` ends the agent and starts another with an empty memory.
 */
export class PodNode {
  readonly api: LocalApi;
  /** `TYPE REASON MESSAGE` of all events, in order. */
  readonly events: string[] = [];
  /** The agent's writes: `patch NAME` and `delete NAME`. */
  readonly writes: string[] = [];
  readonly #clock: Clock;
  readonly #makeProvider: (parts: PodNodeParts) => PodProvider;
  #life: Life | undefined;
  #announced = false;

  constructor(clock: Clock, makeProvider: (parts: PodNodeParts) => PodProvider) {
    this.#clock = clock;
    this.api = new LocalApi(clock, counted());
    this.#makeProvider = makeProvider;
    this.api.onPodChange(() => {
      this.#announce();
    });
  }

  get controller(): PodsController {
    if (!this.#life) throw new AgentError('failed_precondition', 'the node does not run');
    return this.#life.controller;
  }

  /** Starts an agent. @param withPods false when its pod source has not delivered yet */
  async start(withPods = true): Promise<void> {
    const clock = this.#clock;
    const { api } = this;
    const recorder: EventRecorder = {
      event: (_object, type, reason, message) => void this.events.push(`${type} ${reason} ${message}`),
    };
    const config = new PodConfig({ clock, recorder, logger: silentLogger });
    const source = new Subject<SourceSnapshot>();
    config.addSource('api', source);
    const stop = new AbortController();
    const controller = new PodsController({
      clock,
      random: counted(),
      nodeName: 'n',
      nodeIP: '192.0.2.1',
      configUpdates: config.updates,
      sourcesReady: new SourcesReady(config),
      nodeGetter: () => node,
      eventRecorder: recorder,
      kubeClient: api.client((verb, { name }) => {
        stop.signal.throwIfAborted();
        if (verb === 'patch' || verb === 'delete') this.writes.push(`${verb} ${name}`);
      }),
    });
    controller.registerProvider(this.#makeProvider({ clock, recorder, api, controller }));
    const running = controller.run(stop.signal);
    this.#life = { controller, config, source, stop, running };
    if (withPods) this.announce();
    await settle();
  }

  /** Stops the agent; its later requests to the API server fail. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (!life) return;
    this.#life = undefined;
    life.stop.abort(new AgentError('cancelled', 'this agent has ended'));
    life.config.stop();
    await settle();
    await life.running;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Delivers the pods in the API server to the agent. */
  announce(): void {
    this.#life?.source.next({
      source: 'api',
      pods: this.api.pods().filter(({ spec }) => spec?.nodeName === 'n'),
    });
  }

  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    queueMicrotask(() => {
      this.#announced = false;
      this.announce();
    });
  }

  /** Creates a pod of one container `main` on the node. @returns its UID */
  create(name: string, spec: Partial<PodSpec> = {}, metadata: Pod['metadata'] = {}): string {
    const pod = {
      metadata: { name, ...metadata },
      spec: { nodeName: 'n', containers: [{ name: 'main', image: 'any' }], ...spec },
    };
    return uidOf(this.api.create(podResource, pod, 'default'));
  }

  delete(name: string, gracePeriodSeconds?: number): void {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    this.api.delete(podResource, { namespace: 'default', name }, options);
  }

  /** The pod in the API server; `undefined` when it is gone. */
  pod(name: string): Pod | undefined {
    return this.api.pods().find(({ metadata }) => metadata?.name === name);
  }

  /** Changes a pod as a user does. */
  update(name: string, change: (pod: Pod) => Pod): void {
    this.api.change({ resource: podResource, ref: { namespace: 'default', name } }, change);
  }
}
