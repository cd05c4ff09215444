import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { goDuration } from '../kube/duration.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { Container, Pod, PodStatus } from '../kube/types.ts';
import type { PodStep, PodSyncer, SyncPodOutcome, SyncPodStep } from '../podworkers/pod-syncer.ts';
import { withMethods } from '../provider/guarded-provider.ts';
import type {
  ContainerContext,
  ContainerOptions,
  ExtraMount,
  Middleware,
  PodRefusal,
} from '../provider/middleware.ts';
import type { PodProvider, PodSyncResult, SyncPodRequest } from '../provider/provider.ts';
import type { CopyKeeper } from './copy-files.ts';
import { withContainerOptions, withExtraMounts } from './pod-copy.ts';

/** The dependencies of {@link MiddlewareChain}. */
export interface MiddlewareDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

const defaultDeadlineMs = 10_000;
const hooks = ['podAddition', 'mounts', 'containerOptions', 'providerSync', 'podStatus'] as const;
type Hook = (typeof hooks)[number];

/** MiddlewareChain calls the hooks of several middleware in order, each with its deadline, and names the one that fails. */
export class MiddlewareChain {
  readonly #all: readonly Middleware[];
  readonly #deps: MiddlewareDeps;

  /** @throws {AgentError} `invalid_argument` that names a middleware without name or hooks, or a name that occurs twice */
  constructor(all: readonly Middleware[], deps: MiddlewareDeps) {
    checkChain(all);
    this.#all = all;
    this.#deps = deps;
  }

  /**
   * Returns the pod's copy for the next sync, or the refusal of the first middleware that refuses it.
   *
   * @throws {AgentError} that names the middleware and the hook that failed
   */
  async podFor(
    pod: Pod,
    signal: AbortSignal,
  ): Promise<{ readonly pod: Pod } | { readonly refuse: PodRefusal }> {
    let copy = pod;
    for (const one of this.#all) {
      const result = await this.#call(one, 'podAddition', signal, (own) =>
        one.podAddition?.({ pod: copy, signal: own }),
      );
      if (result === undefined) continue;
      if ('refuse' in result) return { refuse: validRefusal(one, result.refuse) };
      copy = validPod(one, result.pod, pod);
    }
    return { pod: await this.#withContainers(copy, signal) };
  }

  async #withContainers(pod: Pod, signal: AbortSignal): Promise<Pod> {
    if (!this.#all.some((one) => 'mounts' in one || 'containerOptions' in one)) return pod;
    let copy = pod;
    const each = async (containers: readonly Container[], init: boolean): Promise<readonly Container[]> => {
      const changed: Container[] = [];
      for (const container of containers) {
        const { volumes, container: next } = await this.#container({ pod: copy, container, init, signal });
        copy = { ...copy, spec: { ...copy.spec, volumes } as NonNullable<Pod['spec']> };
        changed.push(next);
      }
      return changed;
    };
    const { initContainers, containers = [] } = pod.spec ?? {};
    const init = initContainers && (await each(initContainers, true));
    const main = await each(containers, false);
    return {
      ...copy,
      spec: { ...copy.spec, ...(init && { initContainers: init }), containers: main },
    };
  }

  /** Applies the hooks of one container; returns it with the pod's volumes. */
  async #container(
    context: ContainerContext,
  ): Promise<{ readonly container: Container; readonly volumes: NonNullable<Pod['spec']>['volumes'] }> {
    let { container } = context;
    let volumes = context.pod.spec?.volumes;
    for (const one of this.#all) {
      const shared = { ...context, container };
      const mounts = await this.#call(one, 'mounts', context.signal, (signal) =>
        one.mounts?.({ ...shared, signal }),
      );
      if (mounts) ({ container, volumes } = withExtraMounts(container, volumes, validMounts(one, mounts)));
      const options = await this.#call(one, 'containerOptions', context.signal, (signal) =>
        one.containerOptions?.({ ...shared, container, signal }),
      );
      if (options) container = withContainerOptions(container, validOptions(one, options));
    }
    return { container, volumes };
  }

  /** Returns the provider with the `providerSync` hooks around its `syncPod`, the first of the chain outermost. */
  around(provider: PodProvider): PodProvider {
    const layers = this.#all.filter((one) => 'providerSync' in one);
    if (layers.length === 0) return provider;
    const syncPod = (request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> => {
      const layer = (index: number, current: SyncPodRequest): Promise<PodSyncResult> => {
        const one = layers[index];
        if (!one) return provider.syncPod(current, signal);
        const next = (changed: SyncPodRequest): Promise<PodSyncResult> => layer(index + 1, changed);
        return named(one, 'providerSync', async () => {
          const result = await one.providerSync?.(current, next, signal);
          if (!Array.isArray(result?.results))
            throw invalid('must return the result of next, or another one');
          return result;
        });
      };
      return layer(0, request);
    };
    return withMethods(provider, { syncPod });
  }

  /** Returns the status as the hooks change it. A hook that fails is logged, and its change is left out. */
  statusFor(pod: Pod, status: PodStatus): PodStatus {
    let changed = status;
    for (const one of this.#all) {
      try {
        const result: unknown = one.podStatus?.({ pod, status: changed });
        if (result === undefined) continue;
        if (typeof result !== 'object' || result === null || 'then' in result)
          throw invalid('must return a status, not a promise');
        changed = result;
      } catch (reason) {
        this.#deps.logger.error('middleware failed', {
          middleware: one.name,
          hook: 'podStatus',
          pod: keyOf(pod),
          err: messageOf(reason),
        });
      }
    }
    return changed;
  }

  /** Calls a hook with its deadline. @throws {AgentError} that names the middleware and the hook */
  #call<T>(
    one: Middleware,
    hook: Hook,
    signal: AbortSignal,
    call: (signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    const ms = one.deadlineMs ?? defaultDeadlineMs;
    return named(one, hook, async () => {
      const late = Promise.withResolvers<never>();
      const own = new AbortController();
      const end = (fault: unknown): void => {
        own.abort(fault);
        late.reject(fault instanceof Error ? fault : new AgentError('cancelled', 'the step is obsolete'));
      };
      const abort = (): void => {
        end(signal.reason);
      };
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      const stop = this.#deps.clock.timer(ms, () => {
        end(new AgentError('deadline_exceeded', `no answer within ${goDuration(ms)}`));
      });
      try {
        return await Promise.race([late.promise, call(own.signal)]);
      } finally {
        stop();
        signal.removeEventListener('abort', abort);
      }
    });
  }
}

const invalid = (what: string): AgentError => new AgentError('invalid_argument', what);

async function named<T>({ name }: Middleware, hook: Hook, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (reason) {
    throw new AgentError(
      AgentError.from(reason).code,
      `middleware ${JSON.stringify(name)}: ${hook}: ${messageOf(reason)}`,
      { cause: reason },
    );
  }
}

function checkChain(all: readonly Middleware[]): void {
  const names = new Set<string>();
  all.forEach((one: unknown, index) => {
    const where = `middleware[${index}]`;
    if (typeof one !== 'object' || one === null)
      throw invalid(
        `${where}: must be an object with a name and hooks, not ${one === null ? 'null' : typeof one}`,
      );
    const { name, ...rest } = one as Middleware;
    if (typeof name !== 'string' || name === '')
      throw invalid(`${where}.name: must be a text that is not empty`);
    if (names.has(name))
      throw invalid(`${where}.name: ${JSON.stringify(name)} occurs twice; names are unique in a chain`);
    names.add(name);
    const present = hooks.filter((hook) => (one as Middleware)[hook] !== undefined);
    const wrong = present.find((hook) => typeof (one as Middleware)[hook] !== 'function');
    if (wrong) throw invalid(`${where} ${JSON.stringify(name)}: ${wrong} must be a function`);
    if (present.length === 0)
      throw invalid(`${where} ${JSON.stringify(name)}: has none of the hooks ${hooks.join(', ')}`);
    const { deadlineMs } = rest;
    if (deadlineMs !== undefined && !(deadlineMs > 0))
      throw invalid(`${where} ${JSON.stringify(name)}: deadlineMs: must be greater than 0`);
  });
}

function validRefusal({ name }: Middleware, refusal: unknown): PodRefusal {
  const { reason, message } = (refusal ?? {}) as Partial<PodRefusal>;
  if (typeof reason !== 'string' || !/^[A-Za-z]\w*$/.test(reason) || typeof message !== 'string')
    throw invalid(
      `middleware ${JSON.stringify(name)}: podAddition: refuse must have a reason in CamelCase and a message`,
    );
  return { reason, message };
}

function validPod({ name }: Middleware, changed: unknown, original: Pod): Pod {
  const fault = (what: string): AgentError =>
    invalid(`middleware ${JSON.stringify(name)}: podAddition: ${what}`);
  if (typeof changed !== 'object' || changed === null) throw fault('pod must be a Pod');
  const pod = changed as Pod;
  if (uidOf(pod) !== uidOf(original) || keyOf(pod) !== keyOf(original))
    throw fault('the copy must keep the UID, name and namespace of the pod');
  if (!Array.isArray(pod.spec?.containers) || pod.spec.containers.length === 0)
    throw fault('the copy must have containers');
  return pod;
}

function validMounts({ name }: Middleware, mounts: unknown): readonly ExtraMount[] {
  const fault = (what: string): AgentError => invalid(`middleware ${JSON.stringify(name)}: mounts: ${what}`);
  if (!Array.isArray(mounts)) throw fault('must return a list');
  for (const mount of mounts as readonly Partial<ExtraMount>[])
    for (const field of ['hostPath', 'mountPath'] as const)
      if (typeof mount[field] !== 'string' || !mount[field].startsWith('/'))
        throw fault(`${field}: ${JSON.stringify(mount[field])} must be an absolute path`);
  return mounts as readonly ExtraMount[];
}

function validOptions({ name }: Middleware, options: unknown): ContainerOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(`middleware ${JSON.stringify(name)}: containerOptions: must return an object`);
  return options;
}

/** The dependencies of {@link MiddlewareSyncer}. */
export interface MiddlewareSyncerDeps extends MiddlewareDeps {
  readonly recorder: EventRecorder;
  readonly chain: Pick<MiddlewareChain, 'podFor'>;
  /** Keeps copies across a restart; absent: a pod that is refused or fails after one goes on as it is. */
  readonly copies?: CopyKeeper;
  /** Ends a pod that has not started: its phase becomes Failed. */
  readonly refuse: (pod: Pod, refusal: PodRefusal) => void;
}

/**
 * MiddlewareSyncer executes the steps of pods with the copy that the middleware make of each pod.
 *
 * A failing middleware fails a pod's first sync, which the worker repeats. A pod that was synced before, also by an agent before this one,
 * goes on with its last copy, so that it is never ended or left alone because of a middleware, and a change that is refused has no effect.
 */
export class MiddlewareSyncer implements PodSyncer {
  readonly #syncer: PodSyncer;
  readonly #deps: MiddlewareSyncerDeps;
  /** The last copy of each pod, by UID. */
  readonly #copies = new Map<string, Pod>();

  constructor(syncer: PodSyncer, deps: MiddlewareSyncerDeps) {
    this.#syncer = syncer;
    this.#deps = deps;
  }

  async syncPod(step: SyncPodStep, signal: AbortSignal): Promise<SyncPodOutcome> {
    const { pod } = step;
    const started = this.#copies.has(uidOf(pod)) || step.runtimeStatus.containerStatuses.length > 0;
    const copy = await this.#copyFor(pod, started, signal);
    if ('pod' in copy) return await this.#syncer.syncPod({ ...step, pod: copy.pod }, signal);
    this.#deps.recorder.event(pod, 'Warning', copy.refuse.reason, copy.refuse.message);
    this.#deps.refuse(pod, copy.refuse);
    return { terminal: false };
  }

  async #copyFor(
    pod: Pod,
    started: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly pod: Pod } | { readonly refuse: PodRefusal }> {
    const uid = uidOf(pod);
    try {
      const result = await this.#deps.chain.podFor(pod, signal);
      if ('pod' in result) {
        this.#copies.set(uid, result.pod);
        await this.#save(result.pod);
        return result;
      }
      if (!started) return result;
      const { reason, message } = result.refuse;
      this.#deps.logger.warn('middleware refuses a pod that has started: it runs on', {
        pod: keyOf(pod),
        reason,
        detail: message,
      });
      return { pod: this.#lastCopy(pod) };
    } catch (reason) {
      if (!signal.aborted) this.#deps.recorder.event(pod, 'Warning', 'FailedSync', messageOf(reason));
      if (started && this.#knownCopy(pod)) return { pod: this.#lastCopy(pod) };
      throw reason;
    }
  }

  /** Keeps a copy for after a restart. A fault is logged, and the pod runs: it matters only once the pod is refused later. */
  async #save(copy: Pod): Promise<void> {
    try {
      await this.#deps.copies?.save(copy);
    } catch (reason) {
      this.#deps.logger.error('the copy that middleware made of a pod cannot be kept', {
        pod: keyOf(copy),
        err: messageOf(reason),
      });
    }
  }

  /** The copy that this agent has made last, or the one before it. */
  #knownCopy(pod: Pod): Pod | undefined {
    const own = this.#copies.get(uidOf(pod));
    if (own) return own;
    const before = this.#deps.copies?.read(pod);
    if (before) this.#copies.set(uidOf(pod), before);
    return before;
  }

  /** The last copy with the metadata of now, e.g. the deletion timestamp; the pod itself when there is none. */
  #lastCopy(pod: Pod): Pod {
    const last = this.#knownCopy(pod);
    if (!last) return pod;
    const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata ?? {};
    const deletion = {
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
    };
    return { ...last, metadata: { ...last.metadata, ...deletion } };
  }

  async syncTerminatingPod(
    step: Parameters<PodSyncer['syncTerminatingPod']>[0],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#syncer.syncTerminatingPod({ ...step, pod: await this.#copyAtEnd(step.pod, signal) }, signal);
  }

  async syncTerminatedPod(step: PodStep, signal: AbortSignal): Promise<void> {
    await this.#syncer.syncTerminatedPod({ ...step, pod: await this.#copyAtEnd(step.pod, signal) }, signal);
    this.#copies.delete(uidOf(step.pod));
  }

  syncTerminatingRuntimePod(...args: Parameters<PodSyncer['syncTerminatingRuntimePod']>): Promise<void> {
    return this.#syncer.syncTerminatingRuntimePod(...args);
  }

  /** After a restart of the agent a pod may end before its first sync: then the copy is made again, or the pod itself ends. */
  async #copyAtEnd(pod: Pod, signal: AbortSignal): Promise<Pod> {
    if (this.#copies.has(uidOf(pod))) return this.#lastCopy(pod);
    const result = await this.#deps.chain.podFor(pod, signal).catch(() => undefined);
    return result && 'pod' in result ? result.pod : this.#lastCopy(pod);
  }
}

/** Returns a sink of statuses that sends them as the middleware change them. */
export const withStatusHooks = <S extends { setPodStatus(pod: Pod, status: PodStatus): unknown }>(
  sink: S,
  chain: Pick<MiddlewareChain, 'statusFor'>,
): S =>
  withMethods(sink, {
    setPodStatus: (pod: Pod, status: PodStatus) => sink.setPodStatus(pod, chain.statusFor(pod, status)),
  });
