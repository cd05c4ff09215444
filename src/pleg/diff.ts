import type { RuntimeContainer, RuntimeContainerState, RuntimePod } from '../provider/runtime-pod.ts';

/**
 * A change of a pod in the runtime. `containerId` is the ID of the container or sandbox; absent for `PodSync`. Kubelet's
 * `PodLifecycleEvent`.
 */
export interface PodLifecycleEvent {
  readonly uid: string;
  readonly type: 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved' | 'ContainerChanged' | 'PodSync';
  readonly containerId?: string;
}

/** The state of a container in the comparison; `created` counts as `unknown`. */
export type PlegState = 'running' | 'exited' | 'unknown' | 'non-existent';

/** Converts a runtime state for the comparison; `undefined` stands for a container that does not exist. */
export function plegState(state: RuntimeContainerState | undefined): PlegState {
  if (state === undefined) return 'non-existent';
  return state === 'created' ? 'unknown' : state;
}

/** The event types for a change from one state to another (R229). */
export function eventTypes(old: PlegState, current: PlegState): readonly PodLifecycleEvent['type'][] {
  if (old === current) return [];
  switch (current) {
    case 'running':
      return ['ContainerStarted'];
    case 'exited':
      return ['ContainerDied'];
    case 'unknown':
      return ['ContainerChanged'];
    case 'non-existent':
      return old === 'exited' ? ['ContainerRemoved'] : ['ContainerDied', 'ContainerRemoved'];
  }
}

/**
 * Computes the events between two listings of one pod, sandboxes included (R229). IDs come in the order of the old containers, old
 * sandboxes, new containers and new sandboxes, each once. Two listings with the same IDs and states in the same order cost no allocation.
 *
 * Follows kubelet `computeEvents`.
 */
export function podEvents(
  uid: string,
  old: RuntimePod | undefined,
  current: RuntimePod | undefined,
): readonly PodLifecycleEvent[] {
  if (isUnchanged(old, current)) return [];
  const ids: string[] = [];
  const events: PodLifecycleEvent[] = [];
  const compare = ({ id }: RuntimeContainer): void => {
    if (ids.includes(id)) return;
    ids.push(id);
    const types = eventTypes(plegState(stateOf(old, id)), plegState(stateOf(current, id)));
    types.forEach((type) => events.push({ uid, type, containerId: id }));
  };
  old?.containers.forEach(compare);
  old?.sandboxes.forEach(compare);
  current?.containers.forEach(compare);
  current?.sandboxes.forEach(compare);
  return events;
}

const none: readonly RuntimeContainer[] = [];

/** True when two listings of a pod have the same IDs and states, so that there is no event. */
export function isUnchanged(old: RuntimePod | undefined, current: RuntimePod | undefined): boolean {
  return (
    old === current ||
    (isSameList(old?.containers ?? none, current?.containers ?? none) &&
      isSameList(old?.sandboxes ?? none, current?.sandboxes ?? none))
  );
}

function isSameList(old: readonly RuntimeContainer[], current: readonly RuntimeContainer[]): boolean {
  if (old.length !== current.length) return false;
  for (let i = 0; i < old.length; i++)
    if (old[i]?.id !== current[i]?.id || old[i]?.state !== current[i]?.state) return false;
  return true;
}

/** The state of the container with this ID, or else of the sandbox. */
function stateOf(pod: RuntimePod | undefined, id: string): RuntimeContainerState | undefined {
  const withId = (item: RuntimeContainer): boolean => item.id === id;
  return (pod?.containers.find(withId) ?? pod?.sandboxes.find(withId))?.state;
}
