import { type Clock, systemClock } from '../base/clock.ts';
import { settle } from '../base/fake-clock.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { uidOf } from '../kube/names.ts';
import type { Container, Pod, PodSpec } from '../kube/types.ts';
import type { NodeProvider, PodProvider, PodSyncResult } from '../provider/provider.ts';
import type { ContainerRef } from '../provider/refs.ts';
import { AgentNode } from './agent-node.ts';
import { TrialNode } from './trial-node.ts';
import { type Ability, type Behaviour, BrokenClause, type ProviderWorld, soonMsOf } from './world.ts';
import {
  emptyPodStatus,
  type RuntimeContainerStatus,
  type RuntimePod,
  type RuntimePodStatus,
} from '../provider/runtime-pod.ts';

const abilityTexts: Readonly<Record<Ability, string>> = {
  commands: 'commands: containers that run the command of their spec',
  hooks: 'hooks: postStart and preStop handlers of containers',
  terminals: 'terminals: commands with a terminal',
  probes: 'probes: probes that the backend runs',
};

/** Makes the `needs` of a clause: abilities, and optional methods of the provider. */
export const needing =
  (
    abilities: readonly Ability[],
    methods: readonly (keyof PodProvider)[] = [],
  ): NonNullable<Clause['needs']> =>
  ({ provider, abilities: has = [] }) =>
    abilities.filter((ability) => !has.includes(ability)).map((ability) => abilityTexts[ability])[0] ??
    methods.find((method) => provider[method] === undefined);

/** The exit code of a program that the signal TERM ended since it had not set its trap yet. */
export const endedByTerm = 143;

/** How long a shell may take until it has set its trap, ms: more and more, as {@link Trial.patiently} takes it. */
export const trapMs: readonly number[] = [500, 3000, 15_000];

/** A law that providers keep. */
export interface Clause {
  /** What the clause is called, as in `kill-waits`. */
  readonly name: string;
  readonly area: string;
  /** The rule of docs/pod-lifecycle.md behind it. */
  readonly rule: string;
  /** The law in one sentence. */
  readonly law: string;
  /** What the provider lacks for the clause to apply; absent: it applies to all. */
  readonly needs?: (world: ProviderWorld) => string | undefined;
  readonly check: (trial: Trial) => Promise<void>;
}

/** The backend cannot do what a clause needs; the message says what that is. */
export class InapplicableClause extends Error {
  override readonly name = 'InapplicableClause';
}

/** @throws {BrokenClause} with what was seen */
export function expect(holds: boolean, seen: () => string): asserts holds {
  if (!holds) throw new BrokenClause(seen());
}

const annotation = 'podtender.io/memory.';

const text = (container: RuntimeContainerStatus): string =>
  `${container.name}=${container.state}${container.state === 'exited' ? `(${container.exitCode})` : ''}`;

/** Container states as a report shows them. */
export const shown = ({ containerStatuses }: Pick<RuntimePodStatus, 'containerStatuses'>): string =>
  containerStatuses.length === 0 ? 'no containers' : containerStatuses.map(text).join(', ');

/**
 * What a clause works with: a world, and short words for what an agent does with a provider.
 *
 * @example
 * const trial = new Trial(world);
 */
export class Trial {
  readonly world: ProviderWorld;
  readonly #clock: Clock & { advance?(ms: number): Promise<void> };
  #provider: PodProvider;
  readonly #uidPrefix: string;
  readonly #pods: Pod[] = [];
  #node: TrialNode | undefined;
  #agent: AgentNode | undefined;
  readonly image: string;

  constructor(world: ProviderWorld, random: Random = systemRandom) {
    this.#uidPrefix = random.uuid().slice(0, 24);
    this.world = world;
    this.image = world.image ?? 'busybox';
    this.#provider = world.provider;
    this.#clock = world.clock ?? systemClock;
  }

  get provider(): PodProvider {
    return this.#provider;
  }

  /** The provider's methods for the node, for clauses that need them. */
  get nodeProvider(): NodeProvider {
    return this.#provider as PodProvider & NodeProvider;
  }

  /** Whether the suite moves the clock itself. */
  get isFakeTime(): boolean {
    return this.#clock.advance !== undefined;
  }

  now(): number {
    return this.#clock.now();
  }

  /** The pods that the clause has made, by UID. */
  get uids(): readonly string[] {
    return this.#pods.map(uidOf);
  }

  /** A container of the clauses' image. */
  container(name: string): Container {
    return { name, image: this.image, imagePullPolicy: 'IfNotPresent' };
  }

  /** A pod with a container `main`. */
  pod(spec: Partial<PodSpec> = {}, name = 'web'): Pod {
    const serial = String(this.#pods.length).padStart(12, '0');
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default', uid: `${this.#uidPrefix}${serial}` },
      spec: { restartPolicy: 'Always', containers: [this.container('main')], ...spec },
    };
    this.#pods.push(pod);
    return pod;
  }

  /** A node around the provider, with its agent running; it ends with the clause. */
  async node(): Promise<TrialNode> {
    if (this.#node) return this.#node;
    this.#node = new TrialNode({
      world: this.world,
      clock: this.#clock,
      provider: () => this.#provider,
      pass: (ms) => this.pass(ms),
      onCreated: (pod) => void this.#pods.push(pod),
    });
    await this.#node.start();
    return this.#node;
  }

  /** A whole agent around the provider, joined to an API server of its own; it ends with the clause. @throws {InapplicableClause} */
  async agent(): Promise<AgentNode> {
    const around = this.world.agent?.();
    if (!around) throw new InapplicableClause('agent: the options of an agent around the provider');
    this.#agent ??= await AgentNode.start(around, (pod) => void this.#pods.push(pod));
    return this.#agent;
  }

  /** Ends the node and the agent around the provider. */
  async stop(): Promise<void> {
    await this.#node?.stop();
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.stop();
  }

  /** Kills what the clause has left running, for providers that are shared by all clauses. */
  async end(): Promise<void> {
    await this.stop();
    const uids = new Set(this.#pods.map(uidOf));
    const left = (await this.#provider.listPods()).filter(
      ({ uid, containers }) => uids.has(uid) && containers.some(({ state }) => state === 'running'),
    );
    const signal = new AbortController().signal;
    await this.during(Promise.all(left.map((pod) => this.#provider.killPod(undefined, pod, 1, signal))));
  }

  /** The pod whose `main` runs a script of the shell. */
  commanding(pod: Pod, script: string): Pod {
    const command = ['/bin/sh', '-c', script];
    const { containers = [] } = pod.spec ?? {};
    return {
      ...pod,
      spec: {
        ...pod.spec,
        containers: containers.map((one) => (one.name === 'main' ? { ...one, command } : one)),
      },
    };
  }

  /** The newest instance of `main`, for streams. */
  async ref(pod: Pod): Promise<ContainerRef> {
    const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
    const id = (await this.newest(pod))?.id ?? '';
    return { podUid: uid, namespace, pod: name, container: 'main', id };
  }

  /** The pod with a container that behaves so. @throws {InapplicableClause} when the backend has no such containers */
  behaving(pod: Pod, behaviour: Behaviour, container = 'main'): Pod {
    const behaving = (this.world.behave ?? defaultBehave)(pod, container, behaviour);
    if (behaving) return behaving;
    throw new InapplicableClause(`behave: a container with ${Object.keys(behaviour).join(', ')}`);
  }

  /** Syncs a pod. @throws {InapplicableClause} when the provider does not admit it */
  async sync(pod: Pod, signal: AbortSignal = new AbortController().signal): Promise<PodSyncResult> {
    const { admit = true, message = '' } = this.#provider.admit?.(pod, []) ?? {};
    if (!admit) throw new InapplicableClause(`admission: ${message}`);
    return this.#provider.syncPod(
      { pod, observed: await this.#observed(pod), pullSecrets: [], restartAllContainers: false },
      signal,
    );
  }

  /** As the agent's cache has it: a pod that the listing does not show has an empty status (R232). */
  async #observed(pod: Pod): Promise<RuntimePodStatus> {
    const { name = '', namespace = '' } = pod.metadata ?? {};
    return (await this.listed(pod)) ? this.status(pod) : emptyPodStatus({ uid: uidOf(pod), name, namespace });
  }

  status(pod: Pod): Promise<RuntimePodStatus> {
    const { name = '', namespace = '' } = pod.metadata ?? {};
    return this.#provider.getPodStatus({ uid: uidOf(pod), name, namespace });
  }

  /** The newest instance of a container. */
  async newest(pod: Pod, container = 'main'): Promise<RuntimeContainerStatus | undefined> {
    const all = (await this.status(pod)).containerStatuses.filter(({ name }) => name === container);
    return all.toSorted((a, b) => b.restartCount - a.restartCount)[0];
  }

  async listed(pod: Pod): Promise<RuntimePod | undefined> {
    return (await this.#provider.listPods()).find(({ uid }) => uid === uidOf(pod));
  }

  /** Kills the pod as the agent does, and lets the time pass that this takes. */
  async kill(pod: Pod, graceSeconds?: number): Promise<void> {
    await this.during(this.killing(pod, graceSeconds));
  }

  /** Begins to kill the pod. */
  async killing(pod: Pod, graceSeconds?: number): Promise<void> {
    const { name = '', namespace = '' } = pod.metadata ?? {};
    const running = (await this.listed(pod)) ?? {
      uid: uidOf(pod),
      name,
      namespace,
      containers: [],
      sandboxes: [],
    };
    await this.#provider.killPod(pod, running, graceSeconds, new AbortController().signal);
  }

  /** Lets time pass until `done` settles. @throws {BrokenClause} after `withinMs` */
  async during<T>(done: Promise<T>, withinMs: number = 3 * this.soonMs): Promise<T> {
    const seen = { settled: false };
    const end = (): void => {
      seen.settled = true;
    };
    done.then(end, end);
    const until = this.now() + withinMs;
    while (!seen.settled && this.now() < until) await this.pass(100);
    expect(seen.settled, () => `a call did not end within ${withinMs} ms`);
    return done;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    if (this.#clock.advance) await this.#clock.advance(ms);
    else await this.#clock.sleep(ms);
    await settle();
  }

  /**
   * Looks for something that lasts for a time only, which a slow machine can miss: again with more time until the look was early enough.
   * In simulated time the first is enough.
   *
   * @param look gets the time, ms; returns false when it came too late
   * @throws {BrokenClause} when all times were too short
   */
  async patiently(times: readonly number[], look: (ms: number) => Promise<boolean>): Promise<void> {
    const tried = this.isFakeTime ? times.slice(0, 1) : times.filter((ms) => ms <= this.soonMs);
    for (const ms of tried) if (await look(ms)) return;
    throw new BrokenClause(
      `it was over before it was seen, although it lasted up to ${tried.at(-1) ?? 0} ms`,
    );
  }

  /** How long to wait for what should happen soon, ms. */
  get soonMs(): number {
    return soonMsOf(this.world);
  }

  /** Lets time pass until `holds` is true. @throws {BrokenClause} after `withinMs` */
  async until(
    holds: () => Promise<boolean>,
    seen: () => Promise<string>,
    withinMs: number = this.soonMs,
  ): Promise<void> {
    const end = this.now() + withinMs;
    while (!(await holds())) {
      if (this.now() >= end) throw new BrokenClause(`${await seen()} after ${withinMs} ms`);
      await this.pass(200);
    }
  }

  /** Starts a pod and waits until `main` runs. */
  async started(pod: Pod): Promise<Pod> {
    await this.sync(pod);
    await this.reach(pod, 'running');
    return pod;
  }

  /** Syncs a pod and waits until `main` runs, or has run. */
  async begun(pod: Pod): Promise<Pod> {
    await this.sync(pod);
    await this.until(
      async () => ['running', 'exited'].includes((await this.newest(pod))?.state ?? ''),
      async () => `main has not started: ${shown(await this.status(pod))}`,
    );
    return pod;
  }

  /** Waits until a container is in a state. */
  reach(pod: Pod, state: RuntimeContainerStatus['state'], container = 'main'): Promise<void> {
    return this.until(
      async () => (await this.newest(pod, container))?.state === state,
      async () => `${container} is not ${state}: ${shown(await this.status(pod))}`,
    );
  }

  /** Ends the provider and goes on with another over the same backend. */
  async restart(): Promise<void> {
    const { restart } = this.world;
    if (restart) this.#provider = await restart();
  }
}

/** A shell that does it, and the annotations by which the memory provider does. */
function defaultBehave(pod: Pod, container: string, behaviour: Behaviour): Pod {
  const { runMs, exitCode = 0, stopDelayMs = 0, stopExitCode = 0, startDelayMs = 0 } = behaviour;
  const { execExitCode = 0 } = behaviour;
  const stop = `trap 'sleep ${stopDelayMs / 1000}; exit ${stopExitCode}' TERM;`;
  const script =
    runMs === undefined
      ? `${stop} while :; do sleep 0.1; done`
      : `${stop} sleep ${runMs / 1000}; exit ${exitCode}`;
  const own = `${annotation}${container}.`;
  const withCommand = <T extends { readonly name: string }>(list: readonly T[] | undefined): readonly T[] =>
    (list ?? []).map((one) =>
      one.name === container ? { ...one, command: ['/bin/sh', '-c', script] } : one,
    );
  const { initContainers, containers, ...spec } = pod.spec ?? { containers: [] };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: {
        ...pod.metadata?.annotations,
        ...(runMs !== undefined && { [`${own}run-ms`]: String(runMs) }),
        [`${own}exit-code`]: String(exitCode),
        [`${own}stop-delay-ms`]: String(stopDelayMs),
        [`${own}stop-exit-code`]: String(stopExitCode),
        [`${own}start-delay-ms`]: String(startDelayMs),
        [`${own}exec-exit-code`]: String(execExitCode),
      },
    },
    spec: {
      ...spec,
      containers: withCommand(containers),
      ...(initContainers && { initContainers: withCommand(initContainers) }),
    },
  };
}
