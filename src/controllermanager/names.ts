import type { ControllerContext } from './context.ts';
import { addDaemonSets } from './apps/daemon-set-controller.ts';
import { addDeployments } from './apps/deployment-controller.ts';
import { addStatefulSets } from './apps/stateful-set-controller.ts';
import { addCronJobs } from './batch/cron-job-controller.ts';
import { addJobs } from './batch/job-controller.ts';
import { addTtlAfterFinished } from './batch/ttl-controller.ts';
import { addAutoscalers } from './autoscaling/autoscaler-controller.ts';
import { addEndpointSlices } from './discovery/endpoint-slice-controller.ts';
import { addEndpoints } from './discovery/endpoints-controller.ts';
import { addEndpointSliceMirroring } from './discovery/mirroring-controller.ts';
import { addNodeLifecycle } from './nodes/node-lifecycle-controller.ts';
import { addPodGarbageCollector } from './nodes/pod-garbage-collector.ts';
import { addTaintEviction } from './nodes/taint-eviction-controller.ts';
import { addDisruption } from './policy/disruption-controller.ts';
import { addReplicaSets, addReplicationControllers } from './apps/replica-set-controller.ts';

/** Starts a controller, and the kind that it acts on. */
export interface Initializer {
  readonly add: (context: ControllerContext) => void;
  readonly kind?: { readonly group: string; readonly resource: string };
}

/** The controllers, by kube-controller-manager's names. */
export type ControllerName =
  | 'cronjob-controller'
  | 'daemonset-controller'
  | 'deployment-controller'
  | 'disruption-controller'
  | 'endpoints-controller'
  | 'endpointslice-controller'
  | 'endpointslice-mirroring-controller'
  | 'horizontal-pod-autoscaler-controller'
  | 'job-controller'
  | 'node-lifecycle-controller'
  | 'pod-garbage-collector-controller'
  | 'replicaset-controller'
  | 'replicationcontroller-controller'
  | 'statefulset-controller'
  | 'taint-eviction-controller'
  | 'ttl-after-finished-controller';

/** What starts each controller. */
export const initializers: Readonly<Record<ControllerName, Initializer>> = {
  'deployment-controller': { add: addDeployments, kind: { group: 'apps', resource: 'deployments' } },
  'replicaset-controller': { add: addReplicaSets, kind: { group: 'apps', resource: 'replicasets' } },
  'replicationcontroller-controller': {
    add: addReplicationControllers,
    kind: { group: '', resource: 'replicationcontrollers' },
  },
  'statefulset-controller': { add: addStatefulSets, kind: { group: 'apps', resource: 'statefulsets' } },
  'daemonset-controller': { add: addDaemonSets, kind: { group: 'apps', resource: 'daemonsets' } },
  'job-controller': { add: addJobs, kind: { group: 'batch', resource: 'jobs' } },
  'cronjob-controller': { add: addCronJobs, kind: { group: 'batch', resource: 'cronjobs' } },
  'ttl-after-finished-controller': { add: addTtlAfterFinished },
  'endpoints-controller': { add: addEndpoints },
  'endpointslice-controller': { add: addEndpointSlices },
  'endpointslice-mirroring-controller': { add: addEndpointSliceMirroring },
  'horizontal-pod-autoscaler-controller': {
    add: addAutoscalers,
    kind: { group: 'autoscaling', resource: 'horizontalpodautoscalers' },
  },
  'disruption-controller': { add: addDisruption },
  'node-lifecycle-controller': { add: addNodeLifecycle, kind: { group: '', resource: 'nodes' } },
  'taint-eviction-controller': { add: addTaintEviction },
  'pod-garbage-collector-controller': { add: addPodGarbageCollector },
};

export const controllerNames: readonly ControllerName[] = Object.keys(initializers) as ControllerName[];
