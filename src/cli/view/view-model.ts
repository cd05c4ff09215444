import type { Container, ContainerStatus, Event, Pod } from '../../kube/types.ts';
import { keyOf } from '../../kube/names.ts';

/** One pod as the terminal shows it. */
export interface PodRow {
  readonly key: string;
  /** The API's phase, and after it what holds the pod up. */
  readonly phase: string;
  readonly detail: string;
  readonly ready: string;
  readonly restarts: number;
  /** ms since the epoch */
  readonly createdAt: number;
  readonly lastEvent: string;
  /** The pod has a container that runs. */
  readonly runs: boolean;
}

/** All that is shown, by pod key. */
export type ViewModel = ReadonlyMap<string, PodRow>;

/** The model after a pod was seen; the last event stays. */
export function withPod(model: ViewModel, pod: Pod): ViewModel {
  const key = keyOf(pod);
  const next = new Map(model);
  next.set(key, { ...rowOf(pod), lastEvent: model.get(key)?.lastEvent ?? '' });
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
  const lastEvent = `${event.reason ?? ''}: ${(event.message ?? '').replaceAll(/\s+/g, ' ').trim()}`;
  return new Map(model).set(row.key, { ...row, lastEvent });
}

function rowOf(pod: Pod): Omit<PodRow, 'lastEvent'> {
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
    restarts: all.reduce((sum, { restartCount }) => sum + restartCount, 0),
    createdAt: createdAt(pod),
    runs: all.some(({ state }) => state?.running !== undefined),
  };
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
  const isDone = (each: ContainerStatus): boolean =>
    sidecars.has(each.name) ? each.started === true : each.state?.terminated?.exitCode === 0;
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
