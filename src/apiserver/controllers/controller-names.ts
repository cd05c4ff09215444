import { AgentError } from '../../base/errors.ts';
import { tableOf } from '../../base/own.ts';

/** What each controller does that can run beside the server: kube-controller-manager's by its names, and the scheduler. */
export const controllerTasks = {
  'certificatesigningrequest-signing-controller': 'signs approved CertificateSigningRequests',
  'clusterrole-aggregation-controller': 'fills in the rules of aggregated ClusterRoles',
  'garbage-collector-controller':
    'deletes objects whose owners are gone, and dependents before or after their owner',
  'namespace-controller': 'empties and removes Namespaces that are deleted',
  'resourcequota-controller': 'counts what ResourceQuotas limit',
  scheduler: 'binds pods without a node to one that fits',
  'serviceaccount-controller':
    'makes the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` of each Namespace',
  'validatingadmissionpolicy-status-controller':
    'checks the types in expressions of ValidatingAdmissionPolicies',
  // those work over the API: an embedder of the server starts them
  'deployment-controller': 'rolls out Deployments by ReplicaSets',
  'replicaset-controller': 'keeps the number of pods of ReplicaSets',
  'replicationcontroller-controller': 'keeps the number of pods of ReplicationControllers',
  'statefulset-controller': 'makes the numbered pods and claims of StatefulSets, in order',
  'daemonset-controller': 'runs a pod of each DaemonSet on each node that fits',
  'endpoints-controller': 'writes the Endpoints of Services',
  'endpointslice-controller': 'writes the EndpointSlices of Services',
  'endpointslice-mirroring-controller': 'copies Endpoints that others write into EndpointSlices',
  'horizontal-pod-autoscaler-controller': 'scales workloads by metrics.k8s.io',
  'job-controller': 'runs the pods of Jobs to their end',
  'cronjob-controller': 'makes Jobs by the schedules of CronJobs',
  'ttl-after-finished-controller': 'deletes finished Jobs after their time to live',
  'disruption-controller': 'counts what PodDisruptionBudgets allow',
  'node-lifecycle-controller': 'marks and taints nodes that are silent',
  'taint-eviction-controller': 'evicts pods from nodes with NoExecute taints',
  'pod-garbage-collector-controller': 'deletes pods of nodes that are gone, and old ended ones',
} as const;

export type ControllerName = keyof typeof controllerTasks;

/** Controllers that can run beside the server. */
export const controllerNames = Object.keys(controllerTasks) as readonly ControllerName[];

/** Other names of controllers, kube-controller-manager's older ones among them. */
const aliases: Readonly<Record<string, ControllerName>> = tableOf({
  deployment: 'deployment-controller',
  replicaset: 'replicaset-controller',
  replicationcontroller: 'replicationcontroller-controller',
  statefulset: 'statefulset-controller',
  daemonset: 'daemonset-controller',
  endpoint: 'endpoints-controller',
  endpointslice: 'endpointslice-controller',
  endpointslicemirroring: 'endpointslice-mirroring-controller',
  horizontalpodautoscaling: 'horizontal-pod-autoscaler-controller',
  job: 'job-controller',
  cronjob: 'cronjob-controller',
  'ttl-after-finished': 'ttl-after-finished-controller',
  disruption: 'disruption-controller',
  nodelifecycle: 'node-lifecycle-controller',
  podgc: 'pod-garbage-collector-controller',
  csrsigning: 'certificatesigningrequest-signing-controller',
  'clusterrole-aggregation': 'clusterrole-aggregation-controller',
  garbagecollector: 'garbage-collector-controller',
  namespace: 'namespace-controller',
  resourcequota: 'resourcequota-controller',
  serviceaccount: 'serviceaccount-controller',
});

/**
 * Returns the enabled controllers of a list as of kube-controller-manager's flag `--controllers`: `*` enables all, `foo` enables one,
 * `-foo` disables one. `none`, which stands alone, enables none.
 *
 * @throws {AgentError} `invalid_argument` for an unknown name, and for `none` beside others
 */
export function enabledControllers(list: readonly string[]): ReadonlySet<ControllerName> {
  if (list.includes('none')) return noneOf(list);
  const enabled = new Set<ControllerName>(list.includes('*') ? controllerNames : []);
  for (const entry of list.filter((one) => one !== '*')) {
    const name = nameOf(entry.replace(/^-/, ''));
    if (entry.startsWith('-')) enabled.delete(name);
    else enabled.add(name);
  }
  return enabled;
}

function noneOf(list: readonly string[]): ReadonlySet<ControllerName> {
  const other = list.find((one) => one !== 'none' && !one.startsWith('-'));
  if (other === undefined) return new Set();
  throw new AgentError(
    'invalid_argument',
    `controllers: "none" and ${JSON.stringify(other)} exclude each other`,
  );
}

function nameOf(text: string): ControllerName {
  const found = aliases[text] ?? controllerNames.find((name) => name === text);
  if (found) return found;
  throw new AgentError(
    'invalid_argument',
    `controllers: ${JSON.stringify(text)}: no such controller: there are ${controllerNames.join(', ')}`,
  );
}
