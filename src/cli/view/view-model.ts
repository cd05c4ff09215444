import type { Container, ContainerStatus, Event, Pod } from '../../kube/types.ts';
import { keyOf } from '../../kube/names.ts';

/** One pod as the terminal shows it. */
export interface PodRow {
  readonly key: string;
  /** The API's phase, and after it what holds the pod up. */
  readonly phase: string;
  readonly detail: string;
  /** Why the pod fails, in full: what its containers, or its status, say; empty when it does not. */
  readonly failure: string;
  readonly ready: string;
  /** As `kubectl get pods` counts them. */
  readonly restarts: number;
  /** When the last of them was due, ms since the epoch; 0: unknown. */
  readonly restartedAt: number;
  /** ms since the epoch */
  readonly createdAt: number;
  readonly lastEvent: string;
  /** ms since the epoch; 0: unknown */
  readonly lastEventAt: number;
  /** The pod has a container that runs. */
  readonly runs: boolean;
}

/** All that is shown, by pod key. */
export type ViewModel = ReadonlyMap<string, PodRow>;

/** The model after a pod was seen; the last event stays. */
export function withPod(model: ViewModel, pod: Pod): ViewModel {
  const key = keyOf(pod);
  const next = new Map(model);
  const { lastEvent = '', lastEventAt = 0 } = model.get(key) ?? {};
  next.set(key, { ...rowOf(pod), lastEvent, lastEventAt });
  return next;
}

/** The model after a pod has gone. */
export function withoutPod(model: ViewModel, key: string): ViewModel {
  const next = new Map(model);
  next.delete(key);
  return next;
}

/** The model after an event about one of its pods. */
export function withEvent(model: ViewModel, event: Event): ViewModel {
  const { kind, namespace = '', name = '' } = event.involvedObject;
  const row = kind === 'Pod' ? model.get(`${namespace}/${name}`) : undefined;
  if (!row) return model;
  const lastEvent = `${event.reason ?? ''}: ${oneLine(event.message)}`;
  return new Map(model).set(row.key, { ...row, lastEvent, lastEventAt: eventTime(event) });
}

/** The model while all pods are stopped, and afterwards: those that ran say how far they are. */
export function withStopping(model: ViewModel, stillRunning: readonly string[]): ViewModel {
  const left = new Set(stillRunning);
  return new Map(
    [...model].map(([key, row]) => {
      if (!row.runs) return [key, row];
      if (left.has(key)) return [key, { ...row, detail: 'Stopping' }];
      const ready = row.ready.replace(/^\d+/, '0');
      return [key, { ...row, detail: stopped, ready, failure: '' }];
    }),
  );
}

/** The detail of a pod that ran until the agent stopped it. */
export const stopped = 'Stopped';

/** When the event was last seen. */
function eventTime({ lastTimestamp, series, eventTime: first, firstTimestamp }: Event): number {
  return Date.parse(lastTimestamp ?? series?.lastObservedTime ?? first ?? firstTimestamp ?? '') || 0;
}

const oneLine = (text = ''): string => text.replaceAll(/\s+/g, ' ').trim();

function rowOf(pod: Pod): Omit<PodRow, 'lastEvent' | 'lastEventAt'> {
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const { containerStatuses = [], initContainerStatuses = [], phase = 'Pending' } = pod.status ?? {};
  const sidecars = new Set(initContainers.filter(isSidecar).map(({ name }) => name));
  const counted = [...initContainerStatuses.filter(({ name }) => sidecars.has(name)), ...containerStatuses];
  const all = [...initContainerStatuses, ...containerStatuses];
  return {
    key: keyOf(pod),
    phase,
    detail: detailOf(pod, sidecars),
    ready: `${counted.filter(({ ready }) => ready).length}/${containers.length + sidecars.size}`,
    failure: failureOf(pod),
    ...restartsOf(pod, sidecars),
    createdAt: createdAt(pod),
    runs: all.some(({ state }) => state?.running !== undefined),
  };
}

/**
 * Restarts as kubectl counts them: while the pod is initialized those of its init containers up to the one under way, then those of sidecars and
 * containers.
 */
function restartsOf(pod: Pod, sidecars: ReadonlySet<string>): Pick<PodRow, 'restarts' | 'restartedAt'> {
  const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = pod.status ?? {};
  const pending = initContainerStatuses.findIndex((each) => !isPassed(each, sidecars));
  const initialized = conditions.some(({ type, status }) => type === 'Initialized' && status === 'True');
  const counted =
    pending >= 0 && !initialized
      ? initContainerStatuses.slice(0, pending + 1)
      : [...initContainerStatuses.filter(({ name }) => sidecars.has(name)), ...containerStatuses];
  const ends = counted.map(({ lastState }) => Date.parse(lastState?.terminated?.finishedAt ?? '') || 0);
  return {
    restarts: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    restartedAt: Math.max(0, ...ends),
  };
}

/** An init container that has succeeded, or a sidecar that has started. */
const isPassed = (each: ContainerStatus, sidecars: ReadonlySet<string>): boolean =>
  sidecars.has(each.name) ? each.started === true : each.state?.terminated?.exitCode === 0;

/** All that pod and containers say of why it fails, one after the other. */
function failureOf({ metadata, status = {} }: Pod): string {
  if (metadata?.deletionTimestamp !== undefined || status.phase === 'Succeeded') return '';
  const { phase, reason = '', message = '' } = status;
  const own = phase === 'Failed' ? [reason, oneLine(message)].filter(Boolean).join(': ') : '';
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return [own, ...all.map(containerFailure)].filter(Boolean).join('; ');
}

function containerFailure(status: ContainerStatus): string {
  const trouble = troubleOf(status);
  if (trouble === '') return '';
  const { name, state, lastState } = status;
  const ended = state?.terminated ?? lastState?.terminated;
  const texts = [
    trouble,
    ended === undefined ? '' : `exit code ${ended.exitCode}`,
    oneLine(state?.waiting?.message),
    oneLine(ended?.message),
  ];
  return `${name}: ${texts.filter(Boolean).join(', ')}`;
}

function createdAt({ metadata, status }: Pod): number {
  return Date.parse(metadata?.creationTimestamp ?? status?.startTime ?? '') || 0;
}

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

/** What holds a pod up, as `kubectl get pods` would say it: `Terminating`, `Init:1/2`, `CrashLoopBackOff`, a reason; or nothing. */
function detailOf(pod: Pod, sidecars: ReadonlySet<string>): string {
  if (pod.metadata?.deletionTimestamp !== undefined) return 'Terminating';
  if (pod.status?.reason !== undefined && pod.status.reason !== '') return pod.status.reason;
  const init = initDetail(pod, sidecars);
  if (init !== '') return init;
  return (pod.status?.containerStatuses ?? []).map(troubleOf).find((each) => each !== '') ?? '';
}

/** Init containers count as done when they have succeeded, or, if sidecars, started. */
function initDetail(pod: Pod, sidecars: ReadonlySet<string>): string {
  const total = pod.spec?.initContainers?.length ?? 0;
  const statuses = pod.status?.initContainerStatuses ?? [];
  const isDone = (each: ContainerStatus): boolean => isPassed(each, sidecars);
  const done = statuses.filter(isDone).length;
  if (total === 0 || done >= total || pod.status?.phase !== 'Pending') return '';
  const trouble = statuses
    .filter((each) => !isDone(each))
    .map(troubleOf)
    .find((each) => each !== '');
  return trouble === undefined ? `Init:${done}/${total}` : `Init:${trouble}`;
}

/** Why a container waits or failed; the states that everyone passes through are no trouble. */
function troubleOf({ state }: ContainerStatus): string {
  const waiting = state?.waiting?.reason ?? '';
  if (waiting !== '' && waiting !== 'PodInitializing' && waiting !== 'ContainerCreating') return waiting;
  const ended = state?.terminated;
  if (!ended || ended.exitCode === 0) return '';
  return ended.reason ?? `ExitCode:${ended.exitCode}`;
}
