import { AgentError } from '../../base/errors.ts';
import { tableOf } from '../../base/own.ts';

/** Controllers that can run beside the server, by kube-controller-manager's names, and the scheduler. */
export const controllerNames = [
  'certificatesigningrequest-signing-controller',
  'clusterrole-aggregation-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'resourcequota-controller',
  'scheduler',
  'serviceaccount-controller',
  'validatingadmissionpolicy-status-controller',
  // those work over the API: an embedder of the server starts them
  'deployment-controller',
  'replicaset-controller',
  'replicationcontroller-controller',
  'statefulset-controller',
  'daemonset-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'horizontal-pod-autoscaler-controller',
  'job-controller',
  'cronjob-controller',
  'ttl-after-finished-controller',
  'disruption-controller',
  'node-lifecycle-controller',
  'taint-eviction-controller',
  'pod-garbage-collector-controller',
] as const;

export type ControllerName = (typeof controllerNames)[number];

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
