import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { FaultLog } from '../base/fault-log.ts';
import type { Logger } from '../base/logger.ts';
import { goDuration } from '../kube/duration.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import { failureOf, listingCheck, podStatusAnswer, syncAnswer, isThenable } from './answers.ts';
import type { ObservedPod } from './hooks.ts';
import type { PodResizes, ProviderAdmission, ProviderDeadlines } from './powers.ts';
import type { PodProvider, PodSyncResult, SyncPodRequest } from './provider.ts';
import type { RuntimePod, RuntimePodStatus } from './runtime-pod.ts';

/** The dependencies of {@link guardedProvider} besides the provider. */
export interface GuardDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

/** When `syncPod` takes longer than this, ms, an Event on the pod says so. */
const noticeMs = 120_000;

const defaults: Required<ProviderDeadlines> = { syncPod: 600_000, killPod: 120_000, query: 120_000 };

/** The grace period of a pod without one, seconds. */
const defaultGraceSeconds = 30;

/**
 * Wraps a provider so that every call returns a valid result or rejects, in bounded time. A thrown error becomes a rejection; an invalid
 * result is rejected with the name of the field; a call that never settles fails at its deadline ({@link ProviderDeadlines}). Methods that
 * must not fail (`admit`, `onPodEvent`, `removeDeadContainers`, `resizes`) never do: their errors are logged and a safe result is returned.
 *
 * Optional methods that the provider lacks are absent here too.
 */
export function guardedProvider<P extends PodProvider>(provider: P, deps: GuardDeps): P {
  const guard = new Guard(provider, deps);
  const own: Partial<PodProvider> = {
    syncPod: (request, signal) => guard.syncPod(request, signal),
    killPod: (pod, running, grace, signal) => guard.killPod(pod, running, grace, signal),
    listPods: (signal) => guard.listPods(signal),
    getPodStatus: (ref, signal) => guard.getPodStatus(ref, signal),
    ...guardedQueries(provider, guard),
    ...guardedRemote(provider, guard),
    ...guardedStreams(provider, guard),
    ...guardedVerdicts(provider, guard),
  };
  return withMethods(provider, own);
}

type Ref = Parameters<PodProvider['getPodStatus']>[0];

/** A call of a provider that has not answered at once. */
interface Watched {
  readonly method: string;
  /** Its deadline, ms. */
  readonly ms: number;
  readonly own: AbortController;
  readonly signal: AbortSignal | undefined;
}

/** Makes the calls of one provider, each with its deadline and its validation. */
class Guard {
  readonly faults = new FaultLog();
  readonly podListing = listingCheck();
  readonly logger: Logger;
  readonly #provider: PodProvider;
  readonly #clock: Clock;
  readonly #recorder: EventRecorder;
  readonly #deadlines: Required<ProviderDeadlines>;

  constructor(provider: PodProvider, { clock, logger, recorder }: GuardDeps) {
    this.#provider = provider;
    this.#clock = clock;
    this.#recorder = recorder;
    this.logger = logger;
    this.#deadlines = { ...defaults, ...provider.deadlines };
  }

  async syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> {
    const call = (own: AbortSignal): unknown => this.#provider.syncPod(request, own);
    const stopNotice = this.#noticeSlowSync(request.pod);
    const answer = await this.within('syncPod', this.#deadlines.syncPod, call, signal).finally(stopNotice);
    const result = this.checked('syncPod', answer, syncAnswer);
    if (this.#provider.recordsEvents === true || result.error) return result;
    const error = failureOf(result.results);
    return error ? { ...result, error } : result;
  }

  #noticeSlowSync(pod: Pod): () => void {
    const { syncPod: ms } = this.#deadlines;
    if (ms <= noticeMs || ms === Infinity) return nothing;
    return this.#clock.timer(noticeMs, () => {
      const message = `no answer for ${goDuration(noticeMs)}; the call ends after ${goDuration(ms)}`;
      this.logger.warn('provider is slow to sync a pod', {
        pod: keyOf(pod),
        uid: uidOf(pod),
        step: 'syncPod',
      });
      this.#recorder.event(pod, 'Warning', 'FailedSync', this.about('syncPod', message));
    });
  }

  async killPod(
    pod: Pod | undefined,
    running: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const graceSeconds =
      gracePeriodSeconds ?? pod?.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds;
    const call = (own: AbortSignal): unknown => this.#provider.killPod(pod, running, gracePeriodSeconds, own);
    await this.within('killPod', graceSeconds * 1000 + this.#deadlines.killPod, call, signal);
  }

  async listPods(signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    const answer = await this.query('listPods', (own) => this.#provider.listPods(own), signal);
    return this.checked('listPods', answer, this.podListing);
  }

  async getPodStatus(ref: Ref, signal?: AbortSignal): Promise<RuntimePodStatus> {
    const answer = await this.query('getPodStatus', (own) => this.#provider.getPodStatus(ref, own), signal);
    return this.checked('getPodStatus', answer, podStatusAnswer);
  }

  /** Makes a call that only reads. */
  query<T>(method: string, call: (signal: AbortSignal) => T, signal?: AbortSignal): Promise<Awaited<T>> {
    return this.within(method, this.#deadlines.query, call, signal);
  }

  /**
   * Returns the result, or rejects after `ms`; the call's signal aborts then. The deadline and the caller's signal are watched once the call
   * has not answered at once: most answers of a provider in memory have (bench: agent).
   */
  async within<T>(
    method: string,
    ms: number,
    call: (signal: AbortSignal) => T,
    signal?: AbortSignal,
  ): Promise<Awaited<T>> {
    if (ms === Infinity) return await call(signal ?? new AbortController().signal);
    const own = new AbortController();
    const called = call(own.signal);
    if (!isThenable(called)) return await called;
    const answer = Promise.resolve(called);
    const state = { isSettled: false, unwatch: nothing };
    const end = (): void => {
      state.isSettled = true;
      state.unwatch();
    };
    answer.then(end, end);
    await Promise.resolve();
    if (state.isSettled) return await answer;
    return await new Promise<Awaited<T>>((resolve, reject) => {
      state.unwatch = this.#watch({ method, ms, own, signal }, reject);
      answer.then(resolve, reject);
    });
  }

  /** Aborts a call and rejects when its time is over; passes the caller's abort on to it. The returned function ends that. */
  #watch({ method, ms, own, signal }: Watched, reject: (fault: AgentError) => void): () => void {
    const abort = (): void => {
      own.abort(signal?.reason);
    };
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
    const stop = this.#clock.timer(ms, () => {
      const fault = new AgentError(
        'deadline_exceeded',
        this.about(method, `no answer within ${goDuration(ms)}`),
      );
      own.abort(fault);
      reject(fault);
    });
    return () => {
      stop();
      signal?.removeEventListener('abort', abort);
    };
  }

  checked<T>(method: string, answer: unknown, check: (answer: unknown) => T): T {
    try {
      return check(answer);
    } catch (reason) {
      throw new AgentError('internal', this.about(method, messageOf(reason)));
    }
  }

  about(method: string, fault: string): string {
    return `provider ${this.#provider.name}: ${method}: ${fault}`;
  }

  /** Runs `act`, which must not fail. Logs an error or a rejection and returns `instead` then. */
  safely<T>(method: string, act: () => T, instead: (reason: unknown) => T): T {
    const failed = (reason: unknown): T => {
      this.report(method, reason);
      return instead(reason);
    };
    try {
      const answer = act();
      return this.settled(method, answer);
    } catch (reason) {
      return failed(reason);
    }
  }

  /** Returns the result of a synchronous method. If it is a promise nevertheless, its rejection is logged. */
  settled<T>(method: string, answer: T): T {
    if (answer instanceof Promise)
      answer.catch((reason: unknown) => {
        this.report(method, reason);
      });
    return answer;
  }

  report(method: string, reason: unknown): void {
    const { name: provider } = this.#provider;
    this.logger.error('provider call failed', {
      provider,
      step: method,
      ...this.faults.fieldsOf(method, reason),
    });
  }

  /** Makes a query and logs its failure, which only the caller would see otherwise. */
  async reported<T>(method: string, query: () => Promise<T>): Promise<T> {
    try {
      const answer = await query();
      this.faults.clear(method);
      return answer;
    } catch (reason) {
      this.report(method, reason);
      throw reason;
    }
  }
}

function guardedQueries(provider: PodProvider, guard: Guard): Partial<PodProvider> {
  const listSome = provider.listSome?.bind(provider);
  const getListedPodStatus = provider.getListedPodStatus?.bind(provider);
  const listUsage = provider.listUsage?.bind(provider);
  const runtimeHealth = provider.runtimeHealth?.bind(provider);
  return {
    ...(listSome && {
      listSome: async (uids, signal) =>
        guard.checked(
          'listSome',
          await guard.query('listSome', (own) => listSome(uids, own), signal),
          guard.podListing,
        ),
    }),
    ...(getListedPodStatus && {
      getListedPodStatus: async (listed, signal) => {
        const answer = await guard.query(
          'getListedPodStatus',
          (own) => getListedPodStatus(listed, own),
          signal,
        );
        return guard.checked('getListedPodStatus', answer, podStatusAnswer);
      },
    }),
    ...(listUsage && {
      listUsage: (signal) =>
        guard.reported('listUsage', () => guard.query('listUsage', (own) => listUsage(own), signal)),
    }),
    ...(runtimeHealth && {
      runtimeHealth: (signal) =>
        guard.reported('runtimeHealth', () =>
          guard.query('runtimeHealth', (own) => runtimeHealth(own), signal),
        ),
    }),
  };
}

/** The guarded methods for providers whose pods are not on this machine. */
function guardedRemote(provider: PodProvider, guard: Guard): Partial<PodProvider> {
  const statsSummary = provider.statsSummary?.bind(provider);
  const resourceMetrics = provider.resourceMetrics?.bind(provider);
  const deletePod = provider.deletePod?.bind(provider);
  const cleanupPods = provider.cleanupPods?.bind(provider);
  return {
    ...(statsSummary && {
      statsSummary: (signal) =>
        guard.reported('statsSummary', () => guard.query('statsSummary', (own) => statsSummary(own), signal)),
    }),
    ...(resourceMetrics && {
      resourceMetrics: (signal) =>
        guard.reported('resourceMetrics', () =>
          guard.query('resourceMetrics', (own) => resourceMetrics(own), signal),
        ),
    }),
    ...(deletePod && {
      deletePod: (ref, pod, signal) => guard.query('deletePod', (own) => deletePod(ref, pod, own), signal),
    }),
    ...(cleanupPods && {
      cleanupPods: (pods, signal) => guard.query('cleanupPods', (own) => cleanupPods(pods, own), signal),
    }),
  };
}

/** The time that `execSync` may take beyond the timeout of its command, ms. */
const execMarginMs = 10_000;

/** The guarded streaming methods. They have no deadline, because a stream lasts until its client ends it. */
function guardedStreams(provider: PodProvider, guard: Guard): Partial<PodProvider> {
  const exec = provider.exec?.bind(provider);
  const attach = provider.attach?.bind(provider);
  const portForward = provider.portForward?.bind(provider);
  const execSync = provider.execSync?.bind(provider);
  const readLogs = provider.readLogs?.bind(provider);
  return {
    ...(readLogs && {
      readLogs: async (container, options, sink, signal) => {
        await readLogs(container, options, sink, signal);
      },
    }),
    ...(execSync && {
      // the provider ends the command at `timeoutMs`; 0 means no timeout
      execSync: (container, command, timeoutMs) =>
        timeoutMs > 0
          ? guard.within('execSync', timeoutMs + execMarginMs, () => execSync(container, command, timeoutMs))
          : guard.within('execSync', Infinity, () => execSync(container, command, timeoutMs)),
    }),
    ...(exec && {
      exec: async (container, command, io, signal) => {
        const code: unknown = await exec(container, command, io, signal);
        return guard.checked('exec', code, exitCode);
      },
    }),
    ...(attach && {
      attach: async (container, io, signal) => {
        await attach(container, io, signal);
      },
    }),
    ...(portForward && {
      portForward: async (pod, port, stream, signal) => {
        await portForward(pod, port, stream, signal);
      },
    }),
  };
}

function exitCode(code: unknown): number {
  if (typeof code === 'number' && Number.isInteger(code)) return code;
  throw new AgentError('internal', `the answer is ${typeof code}, not an exit code`);
}

type Removal = Parameters<NonNullable<PodProvider['removeDeadContainers']>>;

function guardedVerdicts(provider: PodProvider, guard: Guard): Partial<PodProvider> {
  const admit = provider.admit?.bind(provider);
  // an implementation may be async nevertheless
  const removeDeadContainers: ((...args: Removal) => unknown) | undefined =
    provider.removeDeadContainers?.bind(provider);
  const onPodEvent = provider.onPodEvent?.bind(provider);
  const onPodStatus = provider.onPodStatus?.bind(provider);
  const { resizes } = provider;
  return {
    ...(admit && {
      admit: (pod, activePods) =>
        guard.safely(
          'admit',
          () => guard.checked('admit', guard.settled('admit', admit(pod, activePods)), admission),
          (reason) => ({
            admit: false,
            reason: 'UnexpectedAdmissionError',
            message: `provider ${provider.name} could not judge the pod: ${messageOf(reason)}, which is unexpected`,
          }),
        ),
    }),
    ...(removeDeadContainers && {
      removeDeadContainers: (uid, all, observed) => {
        guard.safely(
          'removeDeadContainers',
          () => removeDeadContainers(uid, all, observed),
          () => undefined,
        );
      },
    }),
    ...(onPodEvent && {
      onPodEvent: (listener) => {
        const stop: unknown = guard.safely(
          'onPodEvent',
          (): unknown => onPodEvent(toPods(listener)),
          () => undefined,
        );
        return typeof stop === 'function' ? (stop as () => void) : nothing;
      },
    }),
    ...(onPodStatus && {
      onPodStatus: (listener) => {
        const stop: unknown = guard.safely(
          'onPodStatus',
          (): unknown => onPodStatus(toObservations(listener, guard)),
          () => undefined,
        );
        return typeof stop === 'function' ? (stop as () => void) : nothing;
      },
    }),
    ...(resizes && { resizes: guardedResizes(resizes, guard) }),
  };
}

const nothing = (): void => undefined;

/** Forwards valid UIDs only; a provider in JavaScript may pass something else. */
const toPods =
  (listener: (uid: string) => void) =>
  (uid: unknown): void => {
    if (typeof uid === 'string' && uid !== '') listener(uid);
  };

/** Forwards valid observations. For an invalid one it throws and logs an error with the name of the field. */
const toObservations =
  (listener: (observed: ObservedPod) => void, guard: Guard) =>
  (observed: ObservedPod): void => {
    guard.safely(
      'onPodStatus',
      () => {
        const [pod] = guard.checked(
          'onPodStatus',
          [(observed as Partial<ObservedPod> | null)?.pod],
          guard.podListing,
        );
        const status = guard.checked('onPodStatus', observed.status, podStatusAnswer);
        if (pod) listener({ pod, status });
      },
      nothing,
    );
  };

function admission(answer: unknown): ProviderAdmission {
  const result = answer as Partial<ProviderAdmission> | null | undefined;
  if (typeof result?.admit === 'boolean') return result as ProviderAdmission;
  if (answer instanceof Promise)
    throw new AgentError('internal', 'the answer is a promise; admit must be synchronous');
  throw new AgentError('internal', 'the answer has no "admit" that is true or false');
}

const guardedResizes = (resizes: PodResizes, guard: Guard): PodResizes => ({
  fault: (desired, allocated) =>
    guard.safely(
      'resizes.fault',
      () => resizes.fault(desired, allocated),
      (reason) => messageOf(reason),
    ),
  inProgress: (pod, observed) =>
    guard.safely(
      'resizes.inProgress',
      () => resizes.inProgress(pod, observed),
      () => false,
    ),
});

/** Returns `target` with some methods replaced. The others still run on the original object, which may be frozen. */
export function withMethods<T extends object>(target: T, own: object): T {
  return new Proxy(Object.create(Object.getPrototypeOf(target) as object | null) as T, {
    // eslint-disable-next-line own-keys/own-keys -- a proxy answers `in` for its target
    has: (_shell, key) => key in own || key in target,
    get: (_shell, key) => {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key) as unknown;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
