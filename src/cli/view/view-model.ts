import type { Container, ContainerStatus, Event, Pod } from '../../kube/types.ts';
import { keyOf } from '../../kube/names.ts';

/** One pod as the terminal shows it. */
export interface PodRow {
  readonly key: string;
  /** The API's phase, with what holds the pod up in {@link PodRow.detail}. */
  readonly phase: string;
  readonly detail: string;
  /** Why the pod fails, from its status and containers; empty when it does not. */
  readonly failure: string;
  readonly ready: string;
  /** Counted as by `kubectl get pods`. */
  readonly restarts: number;
  /** When the last restart was due, ms since the epoch; 0: unknown. */
  readonly restartedAt: number;
  /** ms since the epoch */
  readonly createdAt: number;
  readonly lastEvent: string;
  /** ms since the epoch; 0: unknown */
  readonly lastEventAt: number;
  /** Whether a container of the pod is running. */
  readonly runs: boolean;
}

/** All rows by pod key. */
export type ViewModel = ReadonlyMap<string, PodRow>;

/** Returns the row of a pod; the last event stays that of its row before. */
export function podRow(pod: Pod, before?: PodRow): PodRow {
  const { lastEvent = '', lastEventAt = 0 } = before ?? {};
  return { ...rowOf(pod), lastEvent, lastEventAt };
}

/** Returns the key of the pod that an event is about; undefined for events of other objects. */
export function podKeyOf({ involvedObject: { kind, namespace = '', name = '' } }: Event): string | undefined {
  return kind === 'Pod' ? `${namespace}/${name}` : undefined;
}

/** Returns a pod's row with an event as its last one. */
export function rowWithEvent(row: PodRow, event: Event): PodRow {
  const lastEvent = `${event.reason ?? ''}: ${oneLine(event.message)}`;
  return { ...row, lastEvent, lastEventAt: eventTime(event) };
}

/** Returns the model while pods are being stopped and afterwards: pods that were running show their progress. */
export function withStopping(model: ViewModel, stillRunning: readonly string[]): Map<string, PodRow> {
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

/** Returns when the event was last observed. */
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
 * Counts restarts like kubectl: during initialization those of the init containers up to the current one, afterwards those of sidecars
 * and containers.
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

/** True for an init container that has succeeded, or a sidecar that has started. */
const isPassed = (each: ContainerStatus, sidecars: ReadonlySet<string>): boolean =>
  sidecars.has(each.name) ? each.started === true : each.state?.terminated?.exitCode === 0;

/** Returns everything that pod and containers report about why it fails. */
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

/**
 * Returns what holds a pod up, as `kubectl get pods` shows it: `Terminating`, `Init:1/2`, `CrashLoopBackOff`, a reason; or an empty text.
 */
function detailOf(pod: Pod, sidecars: ReadonlySet<string>): string {
  if (pod.metadata?.deletionTimestamp !== undefined) return 'Terminating';
  if (pod.status?.reason !== undefined && pod.status.reason !== '') return pod.status.reason;
  const init = initDetail(pod, sidecars);
  if (init !== '') return init;
  return (pod.status?.containerStatuses ?? []).map(troubleOf).find((each) => each !== '') ?? '';
}

/** Init containers are done when they have succeeded, or, as sidecars, started. */
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

/** Returns why a container waits or failed; empty for states that every container passes through. */
function troubleOf({ state }: ContainerStatus): string {
  const waiting = state?.waiting?.reason ?? '';
  if (waiting !== '' && waiting !== 'PodInitializing' && waiting !== 'ContainerCreating') return waiting;
  const ended = state?.terminated;
  if (!ended || ended.exitCode === 0) return '';
  return ended.reason ?? `ExitCode:${ended.exitCode}`;
}
