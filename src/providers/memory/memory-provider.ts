import { untilAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { Emitter } from '../../base/emitter.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { PodResizes } from '../../provider/powers.ts';
import type { ContainerRef } from '../../provider/refs.ts';
import type {
  NodeProvider,
  PodProvider,
  PodSyncResult,
  SyncPodRequest,
  SyncResult,
} from '../../provider/provider.ts';
import { emptyPodStatus, type RuntimePod, type RuntimePodStatus } from '../../provider/runtime-pod.ts';
import type { PodUsage } from '../../provider/usage.ts';
import { behaviourOf, behavioursOf, type MemoryBehaviour } from './behaviour.ts';
import {
  addressOf,
  isLive,
  isSidecar,
  Lives,
  newest,
  newestByName,
  newestOfEach,
  startable,
  toPodStatus,
  toRuntimePod,
  toUsage,
  type Instance,
  type MemoryPod,
} from './memory-pod.ts';
import { recordOfStatus } from './adopted-pod.ts';
import { MemoryJournal } from './journal.ts';
import { resizesOf, resourcesOf } from './resizing.ts';
import { kubeletBackOff, restartDelayMs, type RestartBackOff } from './restart-back-off.ts';

/** Dependencies of a memory provider; only the clock is required. */
export interface MemoryProviderDeps {
  readonly clock: Clock;
  /** Returns how a container behaves; default: by the pod's annotations ({@link behaviourOf}). */
  readonly behaviour?: (pod: Pod, container: string) => MemoryBehaviour;
  readonly backOff?: RestartBackOff;
  /** Journal file that makes the pods survive the process; absent: they are lost with it. */
  readonly journal?: string;
  /** Logs failures of the journal. */
  readonly logger?: Logger;
  /** Number of stopped pods to remember; the oldest are dropped first. */
  readonly keptPods?: number;
  /** Prefix of container IDs, which makes them unique among the nodes of one process. Default: `memory://`. */
  readonly idPrefix?: string;
  /** Returns the address of the pod with this serial number. Default: one of 10.0.0.0/8. */
  readonly podIP?: (serial: number) => string;
}

/** Calls that can be made to fail. */
export type MemoryCall = 'syncPod' | 'resizePod' | 'killPod' | 'listPods' | 'getPodStatus' | 'ping';

/**
 * MemoryProvider keeps pods as records with data as behaviour: the fake of all tests, and the provider of scale runs. The cost of a call
 * does not depend on the number of other pods; an idle pod has no timer.
 * @example
 * const provider = new MemoryProvider({ clock: new FakeClock() });
 */
export class MemoryProvider implements PodProvider, NodeProvider {
  readonly name = 'memory';
  readonly #clock: Clock;
  readonly #behaviour: (pod: Pod, container: string) => MemoryBehaviour;
  readonly #behaviours: (pod: Pod) => (container: string) => MemoryBehaviour;
  readonly #backOff: RestartBackOff;
  readonly #keptPods: number;
  readonly #idPrefix: string;
  readonly #podIP: (serial: number) => string;
  #read: Map<string, MemoryPod> | undefined;
  readonly #stopped = new Set<string>();
  readonly #failures = new Map<MemoryCall, Error[]>();
  readonly #hanging = new Set<MemoryCall>();
  readonly #events = new Emitter<{ change: [uid: string] }>();
  readonly #journal: MemoryJournal | undefined;
  #list: readonly RuntimePod[] | undefined;
  #serial = 0;

  constructor(deps: MemoryProviderDeps) {
    this.#clock = deps.clock;
    const { behaviour } = deps;
    this.#behaviour = behaviour ?? behaviourOf;
    this.#behaviours = behaviour ? (pod) => (container) => behaviour(pod, container) : behavioursOf;
    this.#backOff = deps.backOff ?? kubeletBackOff;
    this.#keptPods = deps.keptPods ?? 1000;
    this.#idPrefix = deps.idPrefix ?? 'memory://';
    this.#podIP = deps.podIP ?? addressOf;
    this.#journal =
      deps.journal === undefined ? undefined : new MemoryJournal(deps.journal, deps.logger ?? silentLogger);
  }

  /** Pods of an earlier process are loaded on first access, which keeps the agent's start short. */
  get #pods(): Map<string, MemoryPod> {
    if (this.#read) return this.#read;
    this.#read = new Map();
    for (const record of this.#journal?.load() ?? []) this.#resume(record);
    return this.#read;
  }

  async syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> {
    signal.throwIfAborted();
    if (this.#hanging.delete('syncPod')) await untilAborted(unanswered, signal);
    this.#throwPlannedFailure('syncPod');
    const record = this.#recordOf(request.pod);
    const before = this.#serial;
    if (request.restartAllContainers) this.#endAll(record);
    this.#endChanged(record, request.pod);
    const results = [...this.#resize(record, request.pod), ...this.#startAll(record, request.pod)];
    const failed = results.filter(({ reason }) => reason !== undefined);
    const until = this.#backOffEnds(record, failed);
    return {
      results,
      changed: this.#serial !== before || results.some(({ action, reason }) => isResize(action) && !reason),
      ...(failed.length > 0 && { error: new Error(failed.map(({ message }) => message ?? '').join('; ')) }),
      ...(until !== undefined && { backOffUntil: until }),
    };
  }

  async killPod(
    pod: Pod | undefined,
    running: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    this.#throwPlannedFailure('killPod');
    const record = this.#pods.get(running.uid);
    if (!record) return;
    const seconds = gracePeriodSeconds ?? pod?.spec?.terminationGracePeriodSeconds ?? 30;
    await this.#stopAll(record, this.#clock.now() + seconds * 1000, signal);
    if (!record.sandbox.ready) return;
    record.sandbox.ready = false;
    this.#stopped.add(record.uid);
    this.#forgetOldest();
    this.#changed(record);
  }

  readonly resizes: PodResizes = {
    fault: () => undefined,
    inProgress: (pod) => {
      const record = this.#pods.get(uidOf(pod));
      return record !== undefined && resizesOf(record, pod).length > 0;
    },
  };

  async listPods(): Promise<readonly RuntimePod[]> {
    this.#throwPlannedFailure('listPods');
    this.#list ??= Array.from(this.#pods.values(), listedOf);
    return this.#list;
  }

  async listUsage(): Promise<readonly PodUsage[]> {
    const at = this.#clock.now();
    return [...this.#pods.values()].flatMap((record) => toUsage(record, this.#behaviours, at) ?? []);
  }

  async listSome(uids: readonly string[]): Promise<readonly RuntimePod[]> {
    this.#throwPlannedFailure('listPods');
    return uids.flatMap((uid) => {
      const record = this.#pods.get(uid);
      return record ? listedOf(record) : [];
    });
  }

  async getPodStatus(ref: {
    readonly uid: string;
    readonly name: string;
    readonly namespace: string;
  }): Promise<RuntimePodStatus> {
    this.#throwPlannedFailure('getPodStatus');
    const record = this.#pods.get(ref.uid);
    return record ? toPodStatus(record, this.#clock.now()) : emptyPodStatus(ref);
  }

  async ping(): Promise<void> {
    this.#throwPlannedFailure('ping');
  }

  async execSync(
    container: ContainerRef,
  ): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer }> {
    const record = this.#pods.get(container.podUid);
    const { pod } = record ?? {};
    const instance = record && newest(record, container.container);
    if (!pod || instance?.startedAt === undefined || !isLive(instance)) {
      throw new AgentError('not_found', `container ${container.container} does not run`);
    }
    const exitCode = this.#behaviour(pod, container.container).execExitCode;
    return { exitCode, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  }

  onPodEvent(listener: (uid: string) => void): () => void {
    return this.#events.on('change', listener);
  }

  removeDeadContainers(podUid: string, all: boolean): void {
    const record = this.#pods.get(podUid);
    if (!record) return;
    record.instances = newestOfEach(record).filter((instance) => !all || isLive(instance));
    if (record.instances.length === 0 && !record.sandbox.ready) this.#forget(podUid);
    else this.#changed(record);
  }

  /** Makes the next call of a kind fail; repeated calls queue up. */
  failNext(call: MemoryCall, reason: Error): void {
    this.#failures.set(call, [...(this.#failures.get(call) ?? []), reason]);
  }

  /** Makes the next call of a kind hang until its signal aborts; it then rejects with the signal's reason. */
  hangNext(call: 'syncPod'): void {
    this.#hanging.add(call);
  }

  /** Ends a running container, as if its program had exited. @returns true when it was running */
  endContainer(podUid: string, name: string, exitCode: number): boolean {
    const record = this.#pods.get(podUid);
    const instance = record && newest(record, name);
    if (!record || instance?.startedAt === undefined || !isLive(instance)) return false;
    this.#end(record, instance, exitCode);
    return true;
  }

  /** Continues a pod whose containers ran in another process, as its status describes them; without effect for a pod that exists. */
  adopt(pod: Pod): void {
    const record = this.#pods.has(uidOf(pod)) ? undefined : recordOfStatus(pod, this.#nextId());
    if (!record) return;
    this.#resume(record);
    this.#changed(record);
  }

  /** Continues a pod of an earlier process at the current time. */
  #resume(record: MemoryPod): void {
    this.#pods.set(record.uid, record);
    if (!record.sandbox.ready) this.#stopped.add(record.uid);
    for (const { id } of [record.sandbox, ...record.instances])
      if (id.startsWith(this.#idPrefix))
        this.#serial = Math.max(this.#serial, Number.parseInt(id.slice(this.#idPrefix.length), 16));
    for (const instance of newestOfEach(record)) {
      if (!isLive(instance) || !record.pod) continue;
      const behaviour = this.#behaviour(record.pod, instance.name);
      if (instance.startedAt === undefined) this.#startLater(record, instance, behaviour);
      else this.#endLater(record, instance, behaviour);
    }
  }

  #recordOf(pod: Pod): MemoryPod {
    const uid = uidOf(pod);
    const existing = this.#pods.get(uid);
    if (existing?.sandbox.ready) {
      existing.pod = pod;
      return existing;
    }
    const sandbox = {
      id: this.#nextId(),
      attempt: existing ? existing.sandbox.attempt + 1 : 0,
      createdAt: this.#clock.now(),
      ready: true,
    };
    this.#stopped.delete(uid);
    const record: MemoryPod = existing ?? {
      uid,
      name: nameOf(pod),
      namespace: namespaceOf(pod),
      ip: this.#podIP(this.#serial),
      pod,
      sandbox,
      instances: [],
      listed: undefined,
    };
    record.sandbox = sandbox;
    record.pod = pod;
    this.#pods.set(uid, record);
    this.#changed(record);
    return record;
  }

  /** Starts the containers that may start; when one exits at once, the next may start in the same sync. */
  #startAll(record: MemoryPod, pod: Pod): readonly SyncResult[] {
    const lives = new Lives(record);
    const behaviour = this.#behaviours(pod);
    const results: SyncResult[] = [];
    for (const container of startable(lives, pod))
      results.push(this.#start(lives, container, behaviour(container.name)));
    if (lives.keep()) this.#changed(record);
    return results;
  }

  #start(lives: Lives, container: Container, behaviour: MemoryBehaviour): SyncResult {
    const { name } = container;
    const { record } = lives;
    const last = lives.newest(name);
    const result = { action: 'StartContainer' as const, target: name };
    const until = this.#backOffEnd(last);
    if (until > this.#clock.now()) {
      const seconds = restartDelayMs(last?.restartCount ?? 0, this.#backOff) / 1000;
      const message = `back-off ${seconds}s restarting failed container=${name} pod=${record.name}_${record.namespace}(${record.uid})`;
      return { ...result, reason: 'CrashLoopBackOff', message };
    }
    const failed = record.failedStarts?.get(name) ?? 0;
    if (failed < behaviour.startFailures) {
      (record.failedStarts ??= new Map()).set(name, failed + 1);
      return {
        ...result,
        reason: 'RunContainerError',
        message: `container ${name} is configured to fail to start`,
      };
    }
    const instance: Instance = {
      id: this.#nextId(),
      name,
      image: container.image ?? '',
      restartCount: last ? last.restartCount + 1 : 0,
      createdAt: this.#clock.now(),
      exitCode: 0,
      reason: '',
      resources: resourcesOf(container),
      timer: undefined,
    };
    lives.add(instance);
    if (behaviour.startDelayMs === 0) this.#run(record, instance, behaviour);
    else this.#startLater(record, instance, behaviour);
    return result;
  }

  #startLater(record: MemoryPod, instance: Instance, behaviour: MemoryBehaviour): void {
    const atMs = instance.createdAt + behaviour.startDelayMs;
    instance.timer = this.#clock.timer(Math.max(0, atMs - this.#clock.now()), () => {
      this.#run(record, instance, behaviour);
    });
  }

  #run(record: MemoryPod, instance: Instance, behaviour: MemoryBehaviour): void {
    instance.timer = undefined;
    instance.startedAt = this.#clock.now();
    this.#changed(record);
    if (behaviour.runMs === 0) this.#end(record, instance, behaviour.exitCode);
    else this.#endLater(record, instance, behaviour);
  }

  #endLater(record: MemoryPod, instance: Instance, { runMs, exitCode }: MemoryBehaviour): void {
    if (runMs === undefined) return;
    const atMs = (instance.startedAt ?? 0) + runMs;
    instance.timer = this.#clock.timer(Math.max(0, atMs - this.#clock.now()), () => {
      this.#end(record, instance, exitCode);
    });
  }

  #end(record: MemoryPod, instance: Instance, exitCode: number): void {
    if (instance.finishedAt !== undefined) return;
    instance.timer?.();
    instance.timer = undefined;
    instance.finishedAt = this.#clock.now();
    instance.exitCode = exitCode;
    instance.reason = exitCode === 0 ? 'Completed' : 'Error';
    this.#changed(record);
  }

  /** Stops the regular containers together, then the sidecars, the last one first (R163). */
  async #stopAll(record: MemoryPod, until: number, signal: AbortSignal): Promise<void> {
    const sidecars = (record.pod?.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
    const live = newestOfEach(record).filter(isLive);
    const stop = (instance: Instance): Promise<void> =>
      this.#stop(record, instance, Math.max(0, until - this.#clock.now()), signal);
    await Promise.all(live.filter(({ name }) => !sidecars.includes(name)).map(stop));
    for (const sidecar of sidecars.toReversed())
      for (const instance of live) if (instance.name === sidecar) await stop(instance);
  }

  async #stop(record: MemoryPod, instance: Instance, graceMs: number, signal: AbortSignal): Promise<void> {
    const { stopDelayMs, stopExitCode } = record.pod
      ? this.#behaviour(record.pod, instance.name)
      : { stopDelayMs: 0, stopExitCode: 0 };
    const waitMs = Math.min(stopDelayMs, graceMs);
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    this.#end(record, instance, stopDelayMs > graceMs ? 137 : stopExitCode);
  }

  /** Ends containers whose image changed. */
  #endChanged(record: MemoryPod, pod: Pod): void {
    const newestOf = newestByName(record);
    for (const { name, image = '' } of pod.spec?.containers ?? []) {
      const last = newestOf(name);
      if (last && isLive(last) && last.image !== image) this.#end(record, last, 0);
    }
  }

  /** Applies new resources to running containers; those whose resize policy requires it are restarted. */
  #resize(record: MemoryPod, pod: Pod): readonly SyncResult[] {
    const resizes = resizesOf(record, pod);
    if (resizes.length === 0) return [];
    const result = { action: 'ResizePodInPlace' as const, target: record.name };
    try {
      this.#throwPlannedFailure('resizePod');
    } catch (reason) {
      return [{ ...result, reason: 'ResizePodInPlaceError', message: messageOf(reason) }];
    }
    for (const { instance, resources, restart } of resizes)
      if (restart) this.#end(record, instance, 0);
      else instance.resources = resources;
    this.#changed(record);
    return [result];
  }

  #endAll(record: MemoryPod): void {
    for (const instance of newestOfEach(record)) this.#end(record, instance, 137);
    record.instances = [];
  }

  /** Returns the end of the back-off, ms since the epoch; 0: it may start at once. */
  #backOffEnd(last: Instance | undefined): number {
    if (last?.finishedAt === undefined) return 0;
    return last.finishedAt + restartDelayMs(last.restartCount, this.#backOff);
  }

  #backOffEnds(record: MemoryPod, failed: readonly SyncResult[]): number | undefined {
    const newestOf = newestByName(record);
    const ends = failed
      .filter(({ reason }) => reason === 'CrashLoopBackOff')
      .map(({ target }) => this.#backOffEnd(newestOf(target)));
    return ends.length === failed.length && ends.length > 0 ? Math.min(...ends) : undefined;
  }

  #changed(record: MemoryPod): void {
    record.listed = undefined;
    this.#list = undefined;
    this.#journal?.changed(record.uid, record);
    this.#events.emit('change', record.uid);
  }

  #forgetOldest(): void {
    for (const uid of this.#stopped) {
      if (this.#stopped.size <= this.#keptPods) return;
      this.#forget(uid);
    }
  }

  #forget(uid: string): void {
    this.#pods.delete(uid);
    this.#stopped.delete(uid);
    this.#list = undefined;
    this.#journal?.changed(uid, undefined);
    this.#events.emit('change', uid);
  }

  #throwPlannedFailure(call: MemoryCall): void {
    const [reason, ...rest] = this.#failures.get(call) ?? [];
    if (!reason) return;
    this.#failures.set(call, rest);
    throw reason;
  }

  #nextId(): string {
    this.#serial += 1;
    return `${this.#idPrefix}${this.#serial.toString(16).padStart(12, '0')}`;
  }
}

/** The answer of a call that hangs. */
const unanswered = new Promise<never>(() => undefined);

const isResize = (action: SyncResult['action']): boolean => action === 'ResizePodInPlace';

/** Returns the cached listing of the pod. */
const listedOf = (record: MemoryPod): RuntimePod => (record.listed ??= toRuntimePod(record));
