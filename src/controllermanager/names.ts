import type { ControllerContext } from './context.ts';
import { addDeployments } from './apps/deployment-controller.ts';
import { addReplicaSets, addReplicationControllers } from './apps/replica-set-controller.ts';

/** Starts a controller, and the kind that it acts on. */
export interface Initializer {
  readonly add: (context: ControllerContext) => void;
  readonly kind?: { readonly group: string; readonly resource: string };
}

/** The controllers, by kube-controller-manager's names. */
export type ControllerName =
  'deployment-controller' | 'replicaset-controller' | 'replicationcontroller-controller';

/** What starts each controller. */
export const initializers: Readonly<Record<ControllerName, Initializer>> = {
  'deployment-controller': { add: addDeployments, kind: { group: 'apps', resource: 'deployments' } },
  'replicaset-controller': { add: addReplicaSets, kind: { group: 'apps', resource: 'replicasets' } },
  'replicationcontroller-controller': {
    add: addReplicationControllers,
    kind: { group: '', resource: 'replicationcontrollers' },
  },
};

export const controllerNames: readonly ControllerName[] = Object.keys(initializers) as ControllerName[];
