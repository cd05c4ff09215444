import { keyOf } from '../../src/kube/names.ts';
import type { Pod } from '../../src/kube/types.ts';
import { podRow, type ViewModel } from '../../src/cli/view/view-model.ts';

type Spec = NonNullable<Pod['spec']>;
type Status = NonNullable<Pod['status']>;
type ContainerStatus = NonNullable<Status['containerStatuses']>[number];

export const now = Date.parse('2026-11-21T08:00:10Z');

/** A pod that was created ten seconds before {@link now}. */
export function pod(name: string, status: Partial<Status> = {}, spec: Partial<Spec> = {}): Pod {
  return {
    metadata: { name, namespace: 'default', creationTimestamp: '2026-11-21T08:00:00Z' },
    spec: { containers: [{ name: 'main' }], ...spec },
    status: { phase: 'Running', ...status },
  };
}

/** The status of the pod's container. */
export const main = (state: ContainerStatus['state'], more: Partial<ContainerStatus> = {}): ContainerStatus =>
  ({
    name: 'main',
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state,
    ...more,
  }) as ContainerStatus;

export const modelOf = (...pods: readonly Pod[]): ViewModel =>
  new Map(pods.map((one) => [keyOf(one), podRow(one)]));

export const running = main({ running: {} }, { ready: true });
