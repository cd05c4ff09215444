import type { ContainerStatus, PodStatus } from '../kube/types.ts';

/** How a container ended, as metrics tell it. */
export interface ContainerEnd {
  readonly type: 'container' | 'init_container' | 'ephemeral_container';
  readonly exitCode: number;
  readonly reason: string;
}

const lists = [
  ['init_container', 'initContainerStatuses'],
  ['container', 'containerStatuses'],
  ['ephemeral_container', 'ephemeralContainerStatuses'],
] as const;

/** The containers that have ended in `next` and had not in `old`. Follows kubelet `checkAndRecordTerminations`. */
export function newEnds(old: PodStatus, next: PodStatus): readonly ContainerEnd[] {
  const ends: ContainerEnd[] = [];
  for (const [type, list] of lists)
    for (const { name, state } of next[list] ?? []) {
      if (!state?.terminated || hadEnded(old[list], name)) continue;
      const { exitCode, reason = '' } = state.terminated;
      ends.push({ type, exitCode, reason });
    }
  return ends;
}

const hadEnded = (statuses: readonly ContainerStatus[] | undefined, name: string): boolean =>
  statuses?.find((one) => one.name === name)?.state?.terminated !== undefined;
