/** Identifies one kind of API object: its group, version and resource name. */
export interface Resource {
  /** `''` is the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural, as in the path. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const core = (resource: string, kind: string, namespaced = true): Resource => ({
  group: '',
  version: 'v1',
  resource,
  kind,
  namespaced,
});

export const podResource: Resource = core('pods', 'Pod');
export const nodeResource: Resource = core('nodes', 'Node', false);
export const secretResource: Resource = core('secrets', 'Secret');
export const configMapResource: Resource = core('configmaps', 'ConfigMap');
export const serviceResource: Resource = core('services', 'Service');
export const serviceAccountResource: Resource = core('serviceaccounts', 'ServiceAccount');
export const namespaceResource: Resource = core('namespaces', 'Namespace', false);
export const eventResource: Resource = core('events', 'Event');
export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  kind: 'Lease',
  namespaced: true,
};
export const runtimeClassResource: Resource = {
  group: 'node.k8s.io',
  version: 'v1',
  resource: 'runtimeclasses',
  kind: 'RuntimeClass',
  namespaced: false,
};
