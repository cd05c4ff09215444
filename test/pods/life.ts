import { Subject } from 'rxjs';
import { expect } from 'vitest';
import { PodsController } from '../../src/pods/pods-controller.ts';
import { podResource } from '../../src/api/resources.ts';
import type { Change } from '../../src/apiserver/storage/store.ts';
import { AgentError } from '../../src/base/errors.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Random } from '../../src/base/random.ts';
import { PodConfig, SourcesReady } from '../../src/config/pod-config.ts';
import type { SourceSnapshot } from '../../src/config/pod-update.ts';
import {
  configHashAnnotation,
  fullNameOf,
  isMirrorPod,
  isStaticPod,
  nameOf,
  uidOf,
} from '../../src/kube/names.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import type { PodProvider, PodSyncResult, SyncPodRequest } from '../../src/provider/provider.ts';
import type { RuntimePod, RuntimePodStatus } from '../../src/provider/runtime-pod.ts';
import { MemoryProvider, type MemoryCall } from '../../src/providers/memory/index.ts';
import { isPodStatusByKubeletEqual } from '../../src/status/equal.ts';
import { normalizeStatus } from '../../src/status/normalize.ts';
import { heldBy, type Held, listening } from '../support/leaks.ts';
import { LocalApi } from '../../src/conformance/node/local-api.ts';

const node: Node = {
  metadata: { name: 'n', uid: 'node-uid', labels: { 'kubernetes.io/os': 'linux' } },
  status: { allocatable: { cpu: '64', memory: '64Gi', pods: '110' } },
};

/** What a pod of the story is like; spans in ms, grace in seconds. */
export interface Shape {
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly runMs: number | undefined;
  readonly exitCode: number;
  readonly stopDelayMs: number;
  readonly startFailures: number;
  readonly graceSeconds: number;
  readonly init: boolean;
  /** Asks for a node that this one is not: admission refuses it. */
  readonly elsewhere: boolean;
  readonly deadlineSeconds: number | undefined;
}

export type Action =
  | { readonly do: 'create'; readonly name: string; readonly shape: Shape }
  | { readonly do: 'delete'; readonly name: string; readonly graceSeconds: number | undefined }
  | { readonly do: 'label' | 'newImage'; readonly name: string }
  | { readonly do: 'manifest'; readonly variant: number | undefined; readonly shape: Shape }
  | { readonly do: 'end'; readonly name: string; readonly exitCode: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'apiFails'; readonly times: number }
  | { readonly do: 'runtimeFails'; readonly call: Exclude<MemoryCall, 'ping'> }
  | { readonly do: 'watch'; readonly held: boolean }
  | { readonly do: 'readManifests' }
  | { readonly do: 'restart' };

const counted = (): Random => {
  let serial = 0;
  return {
    float: () => 0.5,
    uuid: () => `00000000-0000-4000-8000-${(++serial).toString(16).padStart(12, '0')}`,
    hex: (bytes) =>
      (++serial)
        .toString(16)
        .padStart(bytes * 2, '0')
        .slice(-bytes * 2),
  };
};

const order = ['Pending', 'Running', 'Succeeded', 'Failed'];
const isTerminal = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

/** What one life of the agent asked of one pod's runtime. */
interface Calls {
  graceSeconds: number;
}

/** What the provider of a life checks, and with whom. */
interface LifeChecks {
  mayKill(pod: Pod | undefined, running: RuntimePod): void;
  /** Keeps what fails: the agent would take it for one more error of its runtime, and try again. */
  noting(check: () => void): void;
}

/** The memory provider as one life of the agent sees it: it dies with that life, and what it is asked for is checked. */
class LifeProvider implements PodProvider {
  readonly name = 'memory';
  readonly #memory: MemoryProvider;
  readonly #dead: AbortSignal;
  readonly #checks: LifeChecks;
  readonly #calls = new Map<string, Calls>();

  constructor(memory: MemoryProvider, dead: AbortSignal, checks: LifeChecks) {
    this.#memory = memory;
    this.#dead = dead;
    this.#checks = checks;
  }

  async syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> {
    this.#dead.throwIfAborted();
    const { pod } = request;
    if (!isStaticPod(pod))
      this.#checks.noting(() => {
        expect(
          this.#calls.get(uidOf(pod)),
          'I3: no container is started once an end has begun',
        ).toBeUndefined();
      });
    return this.#memory.syncPod(request, signal);
  }

  async killPod(
    pod: Pod | undefined,
    running: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    this.#dead.throwIfAborted();
    this.#checks.noting(() => {
      this.#checks.mayKill(pod, running);
    });
    const calls = this.#calls.get(running.uid) ?? { graceSeconds: Infinity };
    this.#calls.set(running.uid, calls);
    const graceSeconds = gracePeriodSeconds ?? pod?.spec?.terminationGracePeriodSeconds ?? 30;
    if (pod && !isStaticPod(pod)) {
      this.#checks.noting(() => {
        expect(graceSeconds, 'I5: at least a second').toBeGreaterThanOrEqual(1);
        expect(graceSeconds, 'I5: never longer than before').toBeLessThanOrEqual(calls.graceSeconds);
      });
      // a pod that ended by itself has no period yet: a later deletion brings the first one (R103)
      if (gracePeriodSeconds !== undefined) calls.graceSeconds = gracePeriodSeconds;
    }
    await this.#memory.killPod(pod, running, gracePeriodSeconds, AbortSignal.any([signal, this.#dead]));
    this.#dead.throwIfAborted();
  }

  listPods(): Promise<readonly RuntimePod[]> {
    return this.#memory.listPods();
  }

  async getPodStatus(ref: Parameters<PodProvider['getPodStatus']>[0]): Promise<RuntimePodStatus> {
    this.#dead.throwIfAborted();
    return this.#memory.getPodStatus(ref);
  }

  onPodEvent(listener: (uid: string) => void): () => void {
    return this.#memory.onPodEvent(listener);
  }

  removeDeadContainers(uid: string, all: boolean): void {
    if (!this.#dead.aborted) this.#memory.removeDeadContainers(uid, all);
  }
}

/** One run of the agent, from start to restart. */
interface AgentRun {
  readonly controller: PodsController;
  readonly config: PodConfig;
  readonly ready: SourcesReady;
  readonly api: Subject<SourceSnapshot>;
  readonly files: Subject<SourceSnapshot>;
  readonly dying: AbortController;
  readonly running: Promise<void>;
  /** What the agent listens to as long as it runs. */
  readonly signals: ReadonlySet<AbortSignal>;
  filesRead: boolean;
}

/**
 * A node's story: users create, change and delete pods at an API server, manifests come and go, calls fail, watches stall, the agent is killed and
 * started anew over the same runtime; after each action what the API server has told so far is checked against the invariants.
 */
export class Life {
  readonly clock: FakeClock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly memory: MemoryProvider = new MemoryProvider({ clock: this.clock });
  readonly #random = counted();
  readonly api: LocalApi = new LocalApi(this.clock, this.#random);
  readonly #phases = new Map<string, string>();
  readonly #generations = new Map<string, number>();
  readonly #faults: unknown[] = [];
  #sent = new Map<string, number>();
  #manifests: readonly Pod[] = [];
  readonly #variants = new Map<number, Pod>();
  #apiFailures = 0;
  #held = false;
  #dirty = false;
  #userActs = false;
  #run: AgentRun;

  constructor() {
    this.api.onPodChange((change) => {
      this.#noting(() => {
        this.#observe(change);
      });
      this.#announce();
    });
    this.#run = this.#start();
  }

  get controller(): PodsController {
    return this.#run.controller;
  }

  async act(action: Action): Promise<void> {
    this.#userActs = true;
    try {
      this.#user(action);
    } finally {
      this.#userActs = false;
    }
    if (action.do === 'advance') await this.clock.advance(action.ms);
    if (action.do === 'restart') await this.#restart();
    await settle();
    this.check();
  }

  #user(action: Action): void {
    switch (action.do) {
      case 'create':
        if (!this.#find(action.name))
          this.api.create(podResource, podOf(action.name, action.shape), 'default');
        return;
      case 'delete':
        this.#delete(action.name, action.graceSeconds);
        return;
      case 'label':
        this.#change(action.name, (pod) => ({
          ...pod,
          metadata: { ...pod.metadata, labels: { at: `t${this.clock.now()}` } },
        }));
        return;
      case 'newImage':
        this.#change(action.name, (pod) => ({ ...pod, spec: withImage(pod, `image:${this.clock.now()}`) }));
        return;
      case 'manifest':
        this.#manifests = action.variant === undefined ? [] : [this.#variant(action.variant, action.shape)];
        if (this.#run.filesRead) this.#readManifests();
        return;
      case 'end': {
        const pod = this.#find(action.name);
        if (pod) this.memory.endContainer(uidOf(pod), 'c', action.exitCode);
        return;
      }
      case 'apiFails':
        this.#apiFailures = action.times;
        return;
      case 'runtimeFails':
        this.memory.failNext(action.call, new AgentError('unavailable', 'told to fail'));
        return;
      case 'watch':
        this.#held = action.held;
        if (!action.held) this.#announce();
        return;
      case 'readManifests':
        this.#readManifests();
        return;
      case 'advance':
      case 'restart':
    }
  }

  /** A static pod's UID is the hash of its text, so another text under the same UID does not occur. */
  #variant(variant: number, shape: Shape): Pod {
    const pod = this.#variants.get(variant) ?? staticPodOf(variant, shape);
    this.#variants.set(variant, pod);
    return pod;
  }

  #find(name: string): Pod | undefined {
    return this.api.pods().find((pod) => pod.metadata?.name === name);
  }

  #delete(name: string, graceSeconds: number | undefined): void {
    if (!this.#find(name)) return;
    this.api.delete(
      podResource,
      { namespace: 'default', name },
      graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds },
    );
  }

  #change(name: string, change: (pod: Pod) => Pod): void {
    if (!this.#find(name)) return;
    this.api.change({ resource: podResource, ref: { namespace: 'default', name } }, (old) => change(old));
  }

  #readManifests(): void {
    this.#run.filesRead = true;
    this.#run.files.next({ source: 'file', pods: this.#manifests });
  }

  /** Watches tell of changes after they were made, never within them. */
  #announce(): void {
    if (this.#held || this.#dirty) return;
    this.#dirty = true;
    queueMicrotask(() => {
      this.#dirty = false;
      this.#run.api.next({
        source: 'api',
        pods: this.api.pods().filter((pod) => pod.spec?.nodeName === node.metadata?.name),
      });
    });
  }

  #start(): AgentRun {
    const dying = new AbortController();
    const { clock, api } = this;
    const recorder = { event: () => undefined };
    const config = new PodConfig({ clock, recorder, logger: silentLogger });
    const ready = new SourcesReady(config);
    const [apiPods, files] = [new Subject<SourceSnapshot>(), new Subject<SourceSnapshot>()];
    config.addSource('api', apiPods);
    config.addSource('file', files);
    const controller = new PodsController({
      clock,
      random: this.#random,
      nodeName: 'n',
      nodeIP: '192.0.2.1',
      configUpdates: config.updates,
      sourcesReady: ready,
      nodeGetter: () => node,
      kubeClient: api.client(() => {
        dying.signal.throwIfAborted();
        if (this.#apiFailures-- > 0) throw new AgentError('unavailable', 'told to fail');
      }),
    });
    const checks: LifeChecks = {
      mayKill: (pod, running) => {
        if (!ready.allReady()) this.#expectWanted(pod, running);
      },
      noting: (check) => {
        this.#noting(check);
      },
    };
    controller.registerProvider(new LifeProvider(this.memory, dying.signal, checks));
    const [running, signals] = listening(() => controller.run(dying.signal));
    const run = { controller, config, ready, api: apiPods, files, dying, running, signals, filesRead: false };
    queueMicrotask(() => {
      this.#announce();
    });
    return run;
  }

  async #restart(): Promise<void> {
    await this.stop();
    this.#sent = new Map();
    this.#run = this.#start();
    await settle();
  }

  /** Ends the agent as a kill does: what it has asked for is not answered any more. */
  async stop(): Promise<void> {
    const { dying, config, running } = this.#run;
    dying.abort(new AgentError('unavailable', 'this life of the agent is over'));
    config.stop();
    await settle();
    await running;
  }

  /** I9: before every source was seen, only what was asked to end or has ended by itself is stopped. */
  #expectWanted(pod: Pod | undefined, running: RuntimePod): void {
    const ended = running.containers.every(({ state }) => state !== 'running');
    const over = isTerminal(pod?.status?.phase) || pod?.metadata?.deletionTimestamp !== undefined;
    const deadline = pod?.spec?.activeDeadlineSeconds !== undefined;
    expect(ended || over || deadline, 'I9: nothing is stopped before all sources are ready').toBe(true);
  }

  /** A check that fails inside the agent would only be one more error to retry: kept for {@link check}. */
  #noting(check: () => void): void {
    try {
      check();
    } catch (fault) {
      this.#faults.push(fault);
      throw fault;
    }
  }

  #observe({ type, entry, before }: Change): void {
    const pod = entry.object as Pod;
    const uid = uidOf(pod);
    if (isMirrorPod(pod)) return;
    if (type === 'DELETED') {
      if (!this.#userActs && before) this.#expectDeletable(before.object);
      return;
    }
    const phase = pod.status?.phase ?? 'Pending';
    const last = this.#phases.get(uid) ?? 'Pending';
    if (isTerminal(last)) expect(phase, 'I1: what has ended stays ended').toBe(last);
    else
      expect(order.indexOf(phase), `I1: ${last}, then ${phase}`).toBeGreaterThanOrEqual(order.indexOf(last));
    this.#phases.set(uid, phase);
    const generation = pod.status?.observedGeneration ?? 0;
    expect(generation, 'I8: no older status after a newer one').toBeGreaterThanOrEqual(
      this.#generations.get(uid) ?? 0,
    );
    this.#generations.set(uid, generation);
  }

  /** I2. */
  #expectDeletable(pod: Pod): void {
    const uid = uidOf(pod);
    expect(pod.metadata?.deletionTimestamp, 'I2: only what somebody wants deleted').toBeDefined();
    expect(isTerminal(pod.status?.phase), `I2: the end was told first, not ${pod.status?.phase}`).toBe(true);
    expect(this.controller.getPodStateProvider().stateOf(uid)?.phase, 'I2: the clean-up is done').toBe(
      'finished',
    );
  }

  check(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
    const { podWorkers, statusManager } = this.controller.engines;
    const started = this.#manifestUids.filter((uid) => {
      const state = podWorkers.stateOf(uid);
      return state?.startedAt !== undefined && state.phase !== 'finished' && state.active?.pod;
    });
    expect(started.length, 'I4: one static pod of a name at a time').toBeLessThanOrEqual(1);
    for (const [uid, version] of statusManager.sentVersions) {
      if (!this.#phases.has(uid)) continue; // a mirror outlives its static pod, whose versions begin anew with it
      expect(version, 'I8: no older version after a newer one').toBeGreaterThanOrEqual(
        this.#sent.get(uid) ?? 0,
      );
      this.#sent.set(uid, version);
    }
  }

  get #manifestUids(): readonly string[] {
    return [0, 1].map(uidOfVariant);
  }

  /** Faults are over, watches flow, manifests are read: how it stands once every period has passed (I7, I8, I10). */
  async converge(): Promise<void> {
    this.#apiFailures = 0;
    await this.act({ do: 'watch', held: false });
    await this.act({ do: 'readManifests' });
    await this.act({ do: 'advance', ms: 150_000 });
    const { statusManager } = this.controller.engines;
    const wanted = new Set([...this.api.pods(), ...this.#manifests].map(uidOf));
    for (const { uid } of await this.#live()) expect(wanted, 'I7: an orphan').toContain(uid);
    for (const pod of this.api.pods()) {
      const told = statusManager.getPodStatus(uidOf(pod));
      if (told)
        expect(
          isPodStatusByKubeletEqual(normalizeStatus(pod, pod.status ?? {}), told),
          `I8: the last status of ${fullNameOf(pod)} is at the API server`,
        ).toBe(true);
    }
    for (const pod of this.#manifests) {
      // as with the kubelet, one that has ended before its mirror could be made never gets one
      if (this.controller.getPodStateProvider().stateOf(uidOf(pod))?.phase !== 'sync') continue;
      const mirror = this.#find(nameOf(pod));
      expect(mirror && isMirrorPod(mirror), 'I10: a static pod has its mirror').toBe(true);
    }
  }

  /** Nobody wants anything any more: nothing is left. */
  async end(): Promise<void> {
    await this.act({ do: 'manifest', variant: undefined, shape: plain });
    for (const { metadata } of this.api.pods())
      await this.act({ do: 'delete', name: metadata?.name ?? '', graceSeconds: undefined });
    await this.act({ do: 'advance', ms: 150_000 });
    expect(this.api.pods().map(fullNameOf), 'I7: deleted pods are gone from the API server').toEqual([]);
    expect(await this.#live(), 'I7: nothing runs').toEqual([]);
    expect(this.held, 'no worker, timer or listener').toEqual(await heldIdle());
    const { statusManager, podCache } = this.controller.engines;
    const shown = new Set((await this.memory.listPods()).map(({ uid }) => uid));
    for (const uid of this.#phases.keys()) {
      expect(statusManager.entry(uid), 'no status').toBeUndefined();
      if (!shown.has(uid)) expect(podCache.peek(uid), 'no observation').toBeUndefined();
    }
    await this.stop();
    expect(this.clock.pending, 'no timer').toBe(0);
  }

  /** What the agent holds now. */
  get held(): Held {
    return heldBy(this.controller.engines, this.clock, this.#run.signals);
  }

  async #live(): Promise<readonly RuntimePod[]> {
    const pods = await this.memory.listPods().catch(() => this.memory.listPods());
    return pods.filter(({ containers }) => containers.some(({ state }) => state === 'running'));
  }
}

/** What an agent holds that never had a pod. */
async function heldIdle(): Promise<Held> {
  const life = new Life();
  await life.act({ do: 'readManifests' });
  // what waits only for the first seconds to pass
  await life.act({ do: 'advance', ms: 60_000 });
  const { held } = life;
  await life.stop();
  return held;
}

export const plain: Shape = {
  restartPolicy: 'Always',
  runMs: undefined,
  exitCode: 0,
  stopDelayMs: 0,
  startFailures: 0,
  graceSeconds: 5,
  init: false,
  elsewhere: false,
  deadlineSeconds: undefined,
};

const uidOfVariant = (variant: number): string => `static-${variant}`;

/** A manifest as the file source gives it; the variants share one name. */
function staticPodOf(variant: number, shape: Shape): Pod {
  const uid = uidOfVariant(variant);
  const pod = podOf('s-n', { ...shape, init: false, elsewhere: false, deadlineSeconds: undefined });
  const annotations = { ...pod.metadata?.annotations, [configHashAnnotation]: uid };
  const tolerations = [{ operator: 'Exists', effect: 'NoExecute' }];
  return {
    ...pod,
    metadata: { ...pod.metadata, uid, annotations },
    spec: { containers: [], ...pod.spec, tolerations },
  };
}

function podOf(name: string, shape: Shape): Pod {
  const { restartPolicy, runMs, exitCode, stopDelayMs, startFailures, graceSeconds } = shape;
  const behaviour = {
    ...(runMs !== undefined && { 'run-ms': runMs, 'exit-code': exitCode }),
    'stop-delay-ms': stopDelayMs,
    'start-failures': startFailures,
  };
  const annotations = Object.fromEntries(
    Object.entries(behaviour).map(([key, value]) => [`podtender.io/memory.c.${key}`, String(value)]),
  );
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', annotations },
    spec: {
      nodeName: 'n',
      restartPolicy,
      terminationGracePeriodSeconds: graceSeconds,
      containers: [containerOf('c')],
      enableServiceLinks: false,
      ...(shape.init && { initContainers: [containerOf('i')] }),
      ...(shape.elsewhere && { nodeSelector: { 'kubernetes.io/os': 'another' } }),
      ...(shape.deadlineSeconds !== undefined && { activeDeadlineSeconds: shape.deadlineSeconds }),
    },
  };
}

const containerOf = (name: string) => ({
  name,
  image: 'image:1',
  imagePullPolicy: 'IfNotPresent',
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
});

const withImage = (pod: Pod, image: string) => {
  const { containers = [], ...rest } = pod.spec ?? {};
  return { ...rest, containers: containers.map((container) => ({ ...container, image })) };
};
