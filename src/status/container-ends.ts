import type { ContainerStatus, PodStatus } from '../kube/types.ts';

/** The end of a container, for metrics. */
export interface ContainerEnd {
  readonly type: 'container' | 'init_container' | 'ephemeral_container';
  readonly exitCode: number;
  readonly reason: string;
}

const lists = [
  { type: 'init_container', list: 'initContainerStatuses' },
  { type: 'container', list: 'containerStatuses' },
  { type: 'ephemeral_container', list: 'ephemeralContainerStatuses' },
] as const;

/** The containers that are terminated in `next` but not in `old`. Follows kubelet `checkAndRecordTerminations`. */
export function newEnds(old: PodStatus, next: PodStatus): readonly ContainerEnd[] {
  const ends: ContainerEnd[] = [];
  lists.forEach(({ type, list }) =>
    next[list]?.forEach(({ name, state }) => {
      if (!state?.terminated || hadEnded(old[list], name)) return;
      const { exitCode, reason = '' } = state.terminated;
      ends.push({ type, exitCode, reason });
    }),
  );
  return ends;
}

const hadEnded = (statuses: readonly ContainerStatus[] | undefined, name: string): boolean =>
  statuses?.find((one) => one.name === name)?.state?.terminated !== undefined;
