import type { JsonObject } from '../../../apimachinery/json.ts';
import { tableOf } from '../../../base/own.ts';
import { clusterRoleRules } from './cluster-roles.ts';
import { controllerRoleRules } from './controller-roles.ts';

const group = 'rbac.authorization.k8s.io';

/** The annotation of roles and bindings to which the server adds what is missing when it starts; `false` prevents that. */
export const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';

const words: Readonly<Record<string, string>> = tableOf({
  read: 'get,list,watch',
  write: 'create,delete,deletecollection,patch,update',
});

/** Returns a rule by its notation; `cluster-roles.ts` describes it. */
export function ruleOf(text: string): JsonObject {
  const [first = '', ...rest] = (
    text === 'record' ? 'create,patch,update core,events.k8s.io events' : text
  ).split(' ');
  const verbs = first
    .split(',')
    .flatMap((verb) => (words[verb] ?? verb).split(','))
    .sort();
  const isPath = rest[0]?.startsWith('/') === true || rest.length === 1;
  if (isPath) return { verbs, nonResourceURLs: rest };
  const [groups = '', resources = '', names] = rest;
  return {
    verbs,
    apiGroups: groups.split(',').map((one) => (one === 'core' ? '' : one)),
    resources: resources.split(','),
    ...(names !== undefined && { resourceNames: names.split(',') }),
  };
}

type Metadata = JsonObject & { readonly name: string };

/** A role or binding that every cluster has. */
export interface BootstrapObject {
  readonly resource: 'clusterroles' | 'clusterrolebindings' | 'roles' | 'rolebindings';
  readonly namespace: string;
  readonly object: JsonObject & { readonly metadata: Metadata };
}

const metadata = (name: string, labels: JsonObject = {}): Metadata => ({
  name,
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  annotations: { [autoUpdate]: 'true' },
});

const aggregation = (to: string): JsonObject => ({ [`${group}/aggregate-to-${to}`]: 'true' });

/** Roles made of other roles, with the labels that make them part of another one. */
const aggregated: readonly (readonly [name: string, labels: JsonObject])[] = [
  ['admin', {}],
  ['edit', aggregation('admin')],
  ['view', aggregation('edit')],
];

const aggregateHead = 'system:aggregate-to-';

const clusterRole = (name: string, rules: readonly string[]): BootstrapObject => ({
  resource: 'clusterroles',
  namespace: '',
  object: {
    metadata: metadata(
      name,
      name.startsWith(aggregateHead) ? aggregation(name.slice(aggregateHead.length)) : {},
    ),
    rules: rules.map(ruleOf),
  },
});

/** Returns a subject by its notation: `user:NAME`, `group:NAME`, or `account:NAME` in `kube-system`. */
function subjectOf(text: string): JsonObject {
  const [kind, ...rest] = text.split(':');
  const name = rest.join(':');
  if (kind === 'account') return { kind: 'ServiceAccount', name, namespace: 'kube-system' };
  return { kind: kind === 'user' ? 'User' : 'Group', apiGroup: group, name };
}

const binding = (
  namespace: string,
  role: string,
  subjects: readonly string[],
  name = role,
): BootstrapObject => ({
  resource: namespace === '' ? 'clusterrolebindings' : 'rolebindings',
  namespace,
  object: {
    metadata: metadata(name),
    roleRef: { apiGroup: group, kind: namespace === '' ? 'ClusterRole' : 'Role', name: role },
    ...(subjects.length > 0 && { subjects: subjects.map(subjectOf) }),
  },
});

/** Who has the cluster roles. */
const clusterBindings: Readonly<Record<string, readonly string[]>> = {
  'cluster-admin': ['group:system:masters'],
  'system:basic-user': ['group:system:authenticated'],
  'system:discovery': ['group:system:authenticated'],
  'system:kube-controller-manager': ['user:system:kube-controller-manager'],
  'system:kube-dns': ['account:kube-dns'],
  'system:kube-scheduler': ['user:system:kube-scheduler'],
  'system:monitoring': ['group:system:monitoring'],
  // the node authorizer allows these permissions to nodes
  'system:node': [],
  'system:node-proxier': ['user:system:kube-proxy'],
  'system:public-info-viewer': ['group:system:authenticated', 'group:system:unauthenticated'],
  'system:service-account-issuer-discovery': ['group:system:serviceaccounts'],
  'system:volume-scheduler': ['user:system:kube-scheduler'],
};

const leading = (component: string): string => `system::leader-locking-${component}`;
const leases = [
  'create,get,list,update,watch coordination.k8s.io leases',
  'create,get,list,update,watch coordination.k8s.io leasecandidates',
];

/** Roles inside a namespace: namespace, name, rules, subjects of the binding of the same name. */
const namespacedRoles: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
  [
    'kube-public',
    'system:controller:bootstrap-signer',
    ['read core configmaps', 'update core configmaps cluster-info', 'record'],
    ['account:bootstrap-signer'],
  ],
  [
    'kube-system',
    'extension-apiserver-authentication-reader',
    ['read core configmaps extension-apiserver-authentication'],
    [],
  ],
  [
    'kube-system',
    leading('kube-controller-manager'),
    leases,
    [
      'user:system:kube-controller-manager',
      'account:kube-controller-manager',
      'account:leader-election-controller',
    ],
  ],
  [
    'kube-system',
    leading('kube-scheduler'),
    leases,
    ['user:system:kube-scheduler', 'account:kube-scheduler'],
  ],
  ['kube-system', 'system:controller:bootstrap-signer', ['read core secrets'], ['account:bootstrap-signer']],
  [
    'kube-system',
    'system:controller:cloud-provider',
    ['create,get,list,watch core configmaps'],
    ['account:cloud-provider'],
  ],
  [
    'kube-system',
    'system:controller:token-cleaner',
    ['delete,get,list,watch core secrets', 'record'],
    ['account:token-cleaner'],
  ],
];

/** Yields the roles and bindings that every cluster has, as kube-apiserver 1.36 creates them. */
export function* bootstrapPolicy(): Generator<BootstrapObject> {
  for (const [name, rules] of Object.entries(clusterRoleRules)) yield clusterRole(name, rules);
  for (const [name, labels] of aggregated)
    yield {
      resource: 'clusterroles',
      namespace: '',
      object: {
        metadata: metadata(name, labels),
        rules: null,
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregation(name) }] },
      },
    };
  for (const [name, rules] of Object.entries(controllerRoleRules))
    yield clusterRole(`system:controller:${name}`, rules);
  for (const [role, subjects] of Object.entries(clusterBindings)) yield binding('', role, subjects);
  for (const name of Object.keys(controllerRoleRules))
    yield binding('', `system:controller:${name}`, [`account:${name}`]);
  for (const [namespace, name, rules, subjects] of namespacedRoles) {
    const object = { metadata: metadata(name), rules: rules.map(ruleOf) };
    yield { resource: 'roles', namespace, object };
    if (subjects.length > 0) yield binding(namespace, name, subjects);
  }
  yield binding(
    'kube-system',
    'extension-apiserver-authentication-reader',
    ['user:system:kube-controller-manager', 'user:system:kube-scheduler'],
    'system::extension-apiserver-authentication-reader',
  );
}
