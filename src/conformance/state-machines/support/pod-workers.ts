import type { Pod } from '../../../kube/types.ts';
import type { PodWorkersMachine } from '../machines.ts';
import { noWaiters, type PodState, workTypeOf } from '../../../podworkers/state.ts';
import type { Kill, PodStatusFn, UpdateType, Work } from '../../../podworkers/updates.ts';

/** Status functions by the name that the recordings know them by: only their identity matters. */
export class StatusFns {
  readonly #byName = new Map<string, PodStatusFn>();
  readonly #names = new Map<PodStatusFn, string>();

  named(name: string): PodStatusFn {
    const existing = this.#byName.get(name);
    if (existing) return existing;
    const fn: PodStatusFn = (status) => ({ ...status });
    this.#byName.set(name, fn);
    this.#names.set(fn, name);
    return fn;
  }

  nameOf(fn: PodStatusFn | undefined): string | undefined {
    return fn && this.#names.get(fn);
  }
}

export const labelOf = (pod: Pod | undefined): string | undefined => pod?.metadata?.labels?.['v'];

const seconds = (ms: number | undefined): number | undefined => ms && ms / 1000;

function kill(options: Kill | undefined, fns: StatusFns): object | undefined {
  return (
    options && {
      evict: options.evict,
      grace: options.gracePeriodSeconds,
      statusFn: fns.nameOf(options.statusFn),
    }
  );
}

/** An update in the words of the recordings. */
export function workInWords(work: Work | undefined, fns: StatusFns): object | undefined {
  return (
    work && {
      type: work.type,
      v: labelOf(work.pod),
      mirror: labelOf(work.mirrorPod),
      running: work.runningPod !== undefined,
      kill: kill(work.kill, fns),
      startTime: seconds(work.startTime),
    }
  );
}

/** A state in the words of the recordings, without what belongs to the worker. */
export function stateInWords(state: PodState, fns: StatusFns): object {
  const ending = state.phase === 'sync' ? undefined : state;
  return {
    fullname: state.fullName,
    workType: workTypeOf(state),
    working: state.working,
    hasWorker: state.phase !== 'finished',
    pending: workInWords(state.pending, fns),
    active: workInWords(state.active, fns),
    syncedAt: seconds(state.syncedAt),
    startedAt: seconds(state.startedAt),
    observedRuntime: state.observedRuntime,
    terminatingAt: seconds(ending?.terminatingAt),
    gracePeriod: ending?.gracePeriodSeconds,
    startedTerminating: ending?.startedTerminating,
    deleted: ending?.deleted,
    evicted: ending?.evicted,
    restartRequested: ending?.restartRequested,
    terminatedAt: seconds('terminatedAt' in state ? state.terminatedAt : undefined),
    finished: state.phase === 'finished',
    notifyPostTerminating: ending?.notify.length,
    statusPostTerminating: ending?.statusFns.map((fn) => fns.nameOf(fn)),
  };
}

/** The seven answers about a UID, in the order of the header's `queryBits`. */
export function queryBits(workers: PodWorkersMachine, uid: string): string {
  return [
    workers.isPodKnownTerminated(uid),
    workers.couldHaveRunningContainers(uid),
    workers.shouldPodBeFinished(uid),
    workers.isPodTerminationRequested(uid),
    workers.shouldPodContainersBeTerminating(uid),
    workers.shouldPodRuntimeBeRemoved(uid),
    workers.shouldPodContentBeRemoved(uid),
  ]
    .map(Number)
    .join('');
}

/** The two tables of static pods. */
export function staticTables(workers: PodWorkersMachine): { startedStatic: object; waitingStatic: object } {
  const { started, waiting } = workers.staticPods;
  return { startedStatic: Object.fromEntries(started), waitingStatic: Object.fromEntries(waiting) };
}

/** A state as the recordings write it. */
export interface StateWords {
  readonly fullname: string;
  readonly working?: boolean;
  readonly token?: boolean;
  readonly pending?: WorkWords;
  readonly active?: WorkWords;
  readonly syncedAt?: number;
  readonly startedAt?: number;
  readonly terminatingAt?: number;
  readonly terminatedAt?: number;
  readonly gracePeriod?: number;
  readonly notifyPostTerminating?: number;
  readonly statusPostTerminating?: readonly string[];
  readonly startedTerminating?: boolean;
  readonly deleted?: boolean;
  readonly evicted?: boolean;
  readonly finished?: boolean;
  readonly restartRequested?: boolean;
  readonly observedRuntime?: boolean;
}

interface WorkWords {
  readonly type: UpdateType;
  readonly v?: string;
  readonly running?: boolean;
}

const milliseconds = (s: number | undefined): number | undefined => s && s * 1000;

/** The state that the words say; `undefined` where no such state can come about, which our types do not let one write down. */
export function stateFromWords(words: StateWords, pod: Pod, fns: StatusFns): PodState | undefined {
  const requests = {
    notify: Array.from({ length: words.notifyPostTerminating ?? 0 }, () => () => undefined),
    statusFns: (words.statusPostTerminating ?? []).map((name) => fns.named(name)),
  };
  const common = {
    fullName: words.fullname,
    working: words.working ?? false,
    pending: workFromWords(words.pending, pod),
    active: workFromWords(words.active, pod),
    syncedAt: milliseconds(words.syncedAt) ?? 0,
    startedAt: milliseconds(words.startedAt),
    observedRuntime: words.observedRuntime ?? false,
  };
  const terminatingAt = milliseconds(words.terminatingAt);
  const terminatedAt = milliseconds(words.terminatedAt);
  const hasRequests = requests.notify.length > 0 || requests.statusFns.length > 0;
  if (terminatingAt === undefined) {
    const { gracePeriod, startedTerminating, deleted, evicted, finished, restartRequested } = words;
    const ending = [
      gracePeriod,
      startedTerminating,
      deleted,
      evicted,
      finished,
      restartRequested,
      terminatedAt,
    ];
    return hasRequests || ending.some(Boolean) ? undefined : { ...common, phase: 'sync' };
  }
  const ending = {
    ...common,
    terminatingAt,
    gracePeriodSeconds: words.gracePeriod ?? 0,
    startedTerminating: words.startedTerminating ?? false,
    deleted: words.deleted ?? false,
    evicted: words.evicted ?? false,
    restartRequested: words.restartRequested ?? false,
  };
  if (terminatedAt === undefined)
    return words.finished ? undefined : { ...ending, ...requests, phase: 'terminating' };
  if (words.finished) return { ...ending, ...requests, phase: 'finished', terminatedAt };
  return hasRequests ? undefined : { ...ending, ...noWaiters, phase: 'terminated', terminatedAt };
}

function workFromWords(words: WorkWords | undefined, pod: Pod): Work | undefined {
  if (!words) return undefined;
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
  const common = { type: words.type, mirrorPod: undefined, startTime: undefined, kill: undefined };
  if (words.running)
    return { ...common, pod: undefined, runningPod: { uid, name, namespace, containers: [], sandboxes: [] } };
  const labels = { ...pod.metadata?.labels, v: words.v ?? '' };
  return { ...common, pod: { ...pod, metadata: { ...pod.metadata, labels } }, runningPod: undefined };
}
