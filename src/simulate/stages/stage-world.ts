import type { ApiClient } from '../../api/client.ts';
import { Informer } from '../../api/cache/informer.ts';
import { nodeResource, podResource, type Resource } from '../../api/resources.ts';
import { type JsonObject, objectAt, objectsAt } from '../../apimachinery/json.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { KubeObject, Node, NodeCondition, Pod } from '../../kube/types.ts';
import { Lanes } from '../lanes.ts';
import type { NodeOverlay } from '../node-keeper.ts';
import type { Simulation } from '../simulation.ts';
import { type ContextDeps, contextOf } from './context.ts';
import { isClusterScoped, pluralOf } from './definitions.ts';
import { kwokKinds, objectsOf } from './objects.ts';
import { type PlayedKind, type PlayedStage, StagePlayer } from './player.ts';
import { guardPodStatus } from './pod-guard.ts';
import type { Expressions } from '../expressions/expressions.ts';
import { mayMatch } from './selection.ts';
import { fallbackStages } from './sets.ts';
import { KindPlayers } from './kind-players.ts';
import { isNodeOrPod, kwokVersion, type Stage, stageExpressions, stageOf } from './stage.ts';
import type { FindResource } from './stage-writer.ts';

/** Dependencies of a StageWorld. */
export interface StageWorldDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The objects of the command line: stages among others. */
  readonly objects: readonly KubeObject[];
  readonly kubeletPort: () => number;
  /** The chance of `Rand()` in expressions. */
  readonly random: Random;
  /** Finds resources for stages of other kinds than Pod and Node, and for objects that stages create. Default: none is found. */
  readonly findResource?: FindResource;
  /** Whether stages for other kinds than Pod and Node are played; in a sharded simulation one shard does. Default: true. */
  readonly playsOtherKinds?: boolean;
  /** Returns a client that acts as another user. */
  readonly clientOf?: (username: string) => ApiClient;
  /**
   * Whether objects of the cluster may say what containers answer. They name files and programs of this machine, so this is for clusters
   * whose users may use those. Default: only the objects of the command line do.
   */
  readonly followsAnswers?: boolean;
  readonly onPlayed?: (played: PlayedStage) => void;
}

/** The Stage objects of a cluster. */
export const stageResource: Resource = {
  group: 'kwok.x-k8s.io',
  version: 'v1alpha1',
  resource: 'stages',
  kind: 'Stage',
  namespaced: false,
};

const answerResources: readonly Resource[] = kwokKinds
  .filter((kind) => kind !== 'Stage')
  .map((kind) => ({
    ...stageResource,
    kind,
    resource: pluralOf(kind),
    namespaced: !isClusterScoped(kind),
  }));

/** Kinds whose objects name no files and programs of this machine: those of every cluster count. */
const harmlessKinds: readonly string[] = ['Metric', 'ResourceUsage', 'ClusterResourceUsage'];

/** Stages that are applied at once, for pods and for nodes. */
const stagesAtOnce = 32;

/**
 * StageWorld plays the stages of a simulation: those of the command line, and the Stage objects of the cluster while it serves them. A pod
 * that no stage is for is run by the kubelet of its node.
 */
export class StageWorld {
  readonly #deps: StageWorldDeps;
  readonly #own: readonly Stage[];
  readonly #served = new Map<string, Stage>();
  readonly #fallback: readonly Stage[];
  /** The pods by UID that stages play. */
  readonly #played = new Map<string, boolean>();
  readonly #addresses = new Map<string, string>();
  readonly #answers = new Map<string, Informer<KubeObject>>();
  readonly #overlays = new Map<string, NodeOverlay>();
  readonly #expressions: Expressions;
  #stages: SortedStages;
  #others: KindPlayers | undefined;
  #players: readonly { replan(): void; stop(): void; readonly played: number }[] = [];

  /** @throws {AgentError} `invalid_argument` for a faulty stage of the command line */
  constructor(deps: StageWorldDeps) {
    this.#deps = deps;
    this.#expressions = stageExpressions({
      now: () => deps.clock.now(),
      random: () => deps.random.float(),
    });
    this.#own = deps.objects.filter(({ kind }) => kind === 'Stage').map(this.#decoded);
    this.#fallback = fallbackStages.flatMap((text) => objectsOf(text, 'stage set fast')).map(this.#decoded);
    this.#stages = this.#sorted();
  }

  readonly #decoded = (object: KubeObject): Stage =>
    stageOf(object as unknown as JsonObject, this.#expressions);

  /** The number of stages played. */
  get played(): number {
    return this.#players.reduce((sum, { played }) => sum + played, 0);
  }

  /** Whether stages play the pod. This is decided when the pod is first seen, and does not change while it lives. */
  isPlayed = (pod: Pod): boolean => {
    const uid = pod.metadata?.uid ?? '';
    const decision = this.#played.get(uid);
    if (decision !== undefined) return decision;
    // a pod that its kubelet runs already keeps it
    const isNew = (pod.status?.containerStatuses ?? []).every(({ containerID = '' }) => containerID === '');
    const isPlayed = isNew && this.#stages.pods.some((stage) => mayMatch(stage, pod));
    this.#played.set(uid, isPlayed);
    return isPlayed;
  };

  /** Plays the stages of the simulation's nodes and pods until `signal` aborts. */
  async run(simulation: Simulation, signal: AbortSignal): Promise<void> {
    const deps = this.#deps;
    if (deps.playsOtherKinds !== false) this.#others = this.#otherKinds(simulation, signal);
    this.#others?.set(this.#stages.others);
    const off = [
      this.#playPods(simulation, signal),
      this.#playNodes(simulation, signal),
      this.#watchStages(simulation, signal),
      ...answerResources
        .filter(({ kind }) => deps.followsAnswers === true || harmlessKinds.includes(kind))
        .map((resource) => this.#watchAnswers(resource, signal)),
    ];
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve();
      });
      if (signal.aborted) resolve();
    });
    for (const end of off) end();
    for (const player of this.#players) player.stop();
  }

  #playPods(simulation: Simulation, signal: AbortSignal): () => void {
    const player = this.#player<Pod>(simulation, signal, {
      kind: this.#podKind(simulation),
      stages: () => [this.#stages.pods, this.#fallback],
    });
    const own = (pod: Pod): boolean => simulation.isOwn(pod) && this.isPlayed(pod);
    const seen = (pod: Pod): void => {
      if (own(pod)) player.seen(pod);
    };
    const registration = simulation.pods.addHandler({
      added: seen,
      updated: (_old, pod) => {
        seen(pod);
      },
      deleted: (pod) => {
        player.deleted(pod);
        this.#played.delete(pod.metadata?.uid ?? '');
        this.#addresses.delete(pod.metadata?.uid ?? '');
      },
    });
    return () => {
      registration.remove();
    };
  }

  #playNodes(simulation: Simulation, signal: AbortSignal): () => void {
    const player = this.#player<Node>(simulation, signal, {
      kind: this.#nodeKind(simulation),
      stages: () => [this.#stages.nodes],
    });
    const seen = (node: Node): void => {
      if (simulation.node(node.metadata?.name ?? '')) player.seen(node);
    };
    const registration = simulation.nodes.addHandler({
      added: seen,
      updated: (_old, node) => {
        seen(node);
      },
      deleted: (node) => {
        player.deleted(node);
      },
    });
    return () => {
      registration.remove();
    };
  }

  /** Plays the stages of kinds other than Pod and Node. */
  #otherKinds(simulation: Simulation, signal: AbortSignal): KindPlayers {
    const { client, clock, logger, findResource = () => Promise.resolve(undefined) } = this.#deps;
    const context = this.#context(simulation);
    return new KindPlayers({
      ...{ client, clock, logger, findResource, signal },
      functionsOf: () => contextOf('', undefined, context),
      makePlayer: (kind, stages) => this.#player(simulation, signal, { kind, stages }),
    });
  }

  #player<T extends KubeObject>(
    simulation: Simulation,
    signal: AbortSignal,
    { kind, stages }: { kind: PlayedKind<T>; stages: () => readonly (readonly Stage[])[] },
  ): StagePlayer<T> {
    const { client, clock, logger, onPlayed, clientOf, findResource } = this.#deps;
    const { chance, recorder } = simulation;
    const lanes = new Lanes(stagesAtOnce);
    const player = new StagePlayer<T>(
      {
        ...{ client, clock, logger, chance, recorder, lanes, stages, signal },
        ...{ ...(clientOf && { clientOf }), ...(findResource && { findResource }) },
        ...(onPlayed && { onPlayed }),
      },
      kind,
    );
    this.#players = [...this.#players, player];
    return player;
  }

  #context(simulation: Simulation): ContextDeps {
    const { clock, kubeletPort } = this.#deps;
    return {
      now: () => clock.now(),
      startedAt: clock.now(),
      kubeletPort,
      addressOf: (node) => simulation.node(node)?.address,
      podAddress: (pod) => {
        const uid = pod.metadata?.uid ?? '';
        const address = this.#addresses.get(uid) ?? simulation.podAddress(pod.spec?.nodeName ?? '');
        this.#addresses.set(uid, address);
        return address;
      },
    };
  }

  #podKind(simulation: Simulation): PlayedKind<Pod> {
    const context = this.#context(simulation);
    return {
      resource: podResource,
      type: builtIn('pods').type,
      knownObjects: simulation.pods.knownObjects,
      functionsOf: (pod) => contextOf(pod.spec?.nodeName ?? '', pod, context),
      isHeld: (pod) => simulation.node(pod.spec?.nodeName ?? '')?.isCutOff === true,
      guard: (before, next) => {
        const { status, problem } = guardPodStatus(before, next.status ?? {});
        const isSame = status === next.status;
        return {
          ...(status && { next: isSame ? next : { ...next, status } }),
          ...(problem !== undefined && { problem }),
        };
      },
    };
  }

  #nodeKind(simulation: Simulation): PlayedKind<Node> {
    const context = this.#context(simulation);
    return {
      resource: nodeResource,
      type: builtIn('nodes').type,
      knownObjects: simulation.nodes.knownObjects,
      functionsOf: (node) => contextOf(node.metadata?.name ?? '', undefined, context),
      isHeld: (node) => simulation.node(node.metadata?.name ?? '')?.isCutOff === true,
      played: ({ metadata }, sent) => {
        const name = metadata?.name ?? '';
        const overlay = sent.reduce<NodeOverlay>(withPatch, this.#overlays.get(name) ?? {});
        this.#overlays.set(name, overlay);
        simulation.overlay(name, 'stages', overlay);
      },
    };
  }

  /** The objects in force that say what containers answer. */
  get answers(): readonly KubeObject[] {
    return [
      ...this.#deps.objects,
      ...[...this.#answers.values()].flatMap((informer) => informer.store.list()),
    ];
  }

  /** Follows the objects of one kind that say what containers answer. */
  #watchAnswers(resource: Resource, signal: AbortSignal): () => void {
    const { client, clock } = this.#deps;
    const kinds = { kind: resource.kind, apiVersion: kwokVersion };
    const informer = new Informer<KubeObject>({ client, clock, logger: silentLogger }, resource, {
      transform: (object) => ({ ...object, ...kinds }),
    });
    this.#answers.set(resource.kind, informer);
    void informer.run(signal);
    return () => {
      this.#answers.delete(resource.kind);
    };
  }

  /** Follows the Stage objects of the cluster; a cluster that does not serve them is asked again from time to time. */
  #watchStages(simulation: Simulation, signal: AbortSignal): () => void {
    const { client, clock, logger } = this.#deps;
    const random = simulation.chance.of('stages');
    const stages = new Informer<KubeObject>({ client, clock, random, logger: silentLogger }, stageResource);
    const set = (object: KubeObject): void => {
      const name = object.metadata?.name ?? '';
      try {
        this.#served.set(name, this.#decoded(object));
      } catch (reason) {
        this.#served.delete(name);
        logger.error('a Stage object cannot be used', { stage: name, err: messageOf(reason) });
        simulation.recorder.event(
          { ...object, kind: 'Stage', apiVersion: 'kwok.x-k8s.io/v1alpha1' },
          ...(['Warning', 'InvalidStage', messageOf(reason)] as const),
        );
      }
      this.#restart();
    };
    const registration = stages.addHandler({
      added: set,
      updated: (_old, object) => {
        set(object);
      },
      deleted: ({ metadata }) => {
        this.#served.delete(metadata?.name ?? '');
        this.#restart();
      },
    });
    void stages.run(signal);
    return () => {
      registration.remove();
    };
  }

  #restart(): void {
    this.#stages = this.#sorted();
    this.#others?.set(this.#stages.others);
    for (const player of this.#players) player.replan();
  }

  #sorted(): SortedStages {
    const all = [...this.#own, ...this.#served.values()];
    const kubelets = all.filter(isNodeOrPod);
    return {
      pods: kubelets.filter(({ kind }) => kind === 'Pod'),
      nodes: kubelets.filter(({ kind }) => kind === 'Node'),
      others: all.filter((stage) => !isNodeOrPod(stage)),
    };
  }
}

/** Stages by the kind of objects that they are for. */
interface SortedStages {
  readonly pods: readonly Stage[];
  readonly nodes: readonly Stage[];
  readonly others: readonly Stage[];
}

/** Returns the overlay with what a patch of a Node's status sets: it stays until a later stage sets it again. */
function withPatch(overlay: NodeOverlay, body: JsonObject): NodeOverlay {
  const status = objectAt(body, 'status');
  const conditions = objectsAt(status, 'conditions') as unknown as readonly NodeCondition[];
  const others = (overlay.conditions ?? []).filter(({ type }) =>
    conditions.every((one) => one.type !== type),
  );
  const { capacity, allocatable } = status as NodeOverlay;
  return {
    ...overlay,
    ...(capacity && { capacity: { ...overlay.capacity, ...capacity } }),
    ...(allocatable && { allocatable: { ...overlay.allocatable, ...allocatable } }),
    conditions: [...others, ...conditions],
  };
}
