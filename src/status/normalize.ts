import { hasMembers } from '../base/members-of.ts';
import type { ContainerState, ContainerStatus, Pod, PodCondition, PodStatus } from '../kube/types.ts';
import { sortedByName } from './container-statuses.ts';
import { wholeSeconds } from '../kube/time.ts';

/** The limit for the termination messages of all containers of a pod together, bytes. */
export const maxTerminationMessageBytes: number = 12 * 1024;

/**
 * Normalizes a status to the form in which the API server returns it: times in whole seconds, termination messages within their share of 12
 * KiB, containers sorted (R198). Parts that are normalized already are kept by reference, so an unchanged status costs no memory.
 *
 * Follows kubelet `normalizeStatus`.
 */
export function normalizeStatus(pod: Pod, status: PodStatus): PodStatus {
  const limit = messageLimit(pod);
  const changes: Record<string, unknown> = {};
  const set = <Key extends keyof PodStatus>(key: Key, value: PodStatus[Key]): void => {
    if (value !== status[key]) changes[key] = value;
  };
  set('startTime', wholeSeconds(status.startTime) ?? status.startTime);
  if (status.conditions) set('conditions', mapSame(status.conditions, normalCondition));
  const normal = (container: ContainerStatus): ContainerStatus => normalContainer(container, limit);
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  if (containerStatuses) set('containerStatuses', sortedByName(mapSame(containerStatuses, normal)));
  if (initContainerStatuses)
    set('initContainerStatuses', inSpecOrder(pod, mapSame(initContainerStatuses, normal)));
  if (ephemeralContainerStatuses)
    set('ephemeralContainerStatuses', sortedByName(mapSame(ephemeralContainerStatuses, normal)));
  return hasMembers(changes) ? { ...status, ...changes } : status;
}

/** The limit for one container's termination message, bytes: an equal share, with init and ephemeral containers counted too. */
function messageLimit({ spec }: Pod): number {
  const count =
    (spec?.containers.length ?? 0) +
    (spec?.initContainers?.length ?? 0) +
    (spec?.ephemeralContainers?.length ?? 0);
  return Math.floor(maxTerminationMessageBytes / Math.max(1, count));
}

/** What remains of a cut four-byte character. What remains of shorter characters does not change when it is cut again. */
const threeLostBytes = '\ufffd'.repeat(3);

/** Like `map`, but returns the same list when no item changed. */
function mapSame<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let changed: T[] | undefined;
  for (let i = 0; i < list.length; i++) {
    const item = list[i] as T;
    const next = change(item);
    if (next !== item) (changed ??= [...list])[i] = next;
  }
  return changed ?? list;
}

/** Returns the object with its times in whole seconds; the same object when they are already. */
function withTimes<T extends object>(object: T, keys: readonly (keyof T & string)[]): T {
  let changed: T | undefined;
  for (const key of keys) {
    const text = object[key] as string | null | undefined;
    if (text == null) continue;
    const normal = wholeSeconds(text);
    if (normal === text) continue;
    changed ??= { ...object };
    if (normal === undefined) delete changed[key];
    else changed[key] = normal as T[keyof T & string];
  }
  return changed ?? object;
}

const normalCondition = (condition: PodCondition): PodCondition =>
  withTimes(condition, ['lastProbeTime', 'lastTransitionTime']);

function normalContainer(container: ContainerStatus, limit: number): ContainerStatus {
  const state = container.state && normalState(container.state, limit);
  const lastState = container.lastState && normalState(container.lastState, limit);
  if (state === container.state && lastState === container.lastState) return container;
  return { ...container, ...(state && { state }), ...(lastState && { lastState }) };
}

function normalState(state: ContainerState, limit: number): ContainerState {
  if (state.running) {
    const running = withTimes(state.running, ['startedAt']);
    return running === state.running ? state : { ...state, running };
  }
  if (!state.terminated) return state;
  const timed = withTimes(state.terminated, ['startedAt', 'finishedAt']);
  const { message = '' } = timed;
  const within = cut(message, limit);
  const terminated = within === message ? timed : { ...timed, message: within };
  return terminated === state.terminated ? state : { ...state, terminated };
}

/**
 * Returns the first `limit` bytes of a text in UTF-8. Each byte of a character cut in two becomes a replacement character, as in Go. Go
 * keeps the bytes and replaces them only when it writes, so a text that was cut before is within its limit there.
 */
function cut(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text;
  if (text.endsWith(threeLostBytes) && Buffer.byteLength(text.slice(0, -3)) + 3 === limit) return text;
  const bytes = Buffer.from(text);
  let end = limit;
  while ((bytes.readUInt8(end) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end) + '\ufffd'.repeat(limit - end);
}

/**
 * Sorts init statuses in the order of the spec; those that the spec does not name move to the end. Follows kubelet
 * `SortInitContainerStatuses`.
 */
function inSpecOrder(pod: Pod, statuses: readonly ContainerStatus[]): readonly ContainerStatus[] {
  const containers = pod.spec?.initContainers ?? [];
  if (statuses.every(({ name }, i) => containers[i]?.name === name)) return statuses;
  const sorted = [...statuses];
  const places = new Map(sorted.map(({ name }, i) => [name, i]));
  let current = 0;
  for (const { name } of containers) {
    const found = places.get(name) ?? -1;
    const [here, there] = [sorted[current], sorted[found]];
    if (!here || !there) continue;
    places.set(here.name, found);
    places.set(name, current);
    sorted[current++] = there;
    sorted[found] = here;
  }
  return sorted;
}
