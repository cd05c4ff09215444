import type { JsonObject } from '../../apimachinery/json.ts';

/** A bootstrap object of priority and fairness. */
export interface FlowControlObject extends JsonObject {
  readonly metadata: { readonly name: string; readonly annotations: JsonObject };
  readonly spec: JsonObject;
}

/** The annotation that says whether the server keeps the spec of a bootstrap object up to date. */
export const autoUpdateSpec = 'apf.kubernetes.io/autoupdate-spec';

const objectOf = (name: string, spec: JsonObject): FlowControlObject => ({
  metadata: { name, annotations: { [autoUpdateSpec]: 'true' } },
  spec,
});

interface Shares {
  readonly shares: number;
  readonly lendable: number;
}

/** Returns a level that queues: `queues` of 50 requests, of which a flow is dealt `hand`. */
const queueing = (name: string, { shares, lendable }: Shares, queues: number, hand = 6): FlowControlObject =>
  objectOf(name, {
    type: 'Limited',
    limited: {
      nominalConcurrencyShares: shares,
      lendablePercent: lendable,
      limitResponse: { type: 'Queue', queuing: { queues, handSize: hand, queueLengthLimit: 50 } },
    },
  });

/** Levels that an administrator may change. */
export const suggestedLevels: readonly FlowControlObject[] = [
  queueing('system', { shares: 30, lendable: 33 }, 64),
  queueing('node-high', { shares: 40, lendable: 25 }, 64),
  queueing('leader-election', { shares: 10, lendable: 0 }, 16, 4),
  queueing('workload-high', { shares: 40, lendable: 50 }, 128),
  queueing('workload-low', { shares: 100, lendable: 90 }, 128),
  queueing('global-default', { shares: 20, lendable: 50 }, 128),
];

/** Levels whose specs are always the server's. */
export const mandatoryLevels: readonly FlowControlObject[] = [
  objectOf('catch-all', {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
  }),
  objectOf('exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }),
];

const group = (name: string): JsonObject => ({ kind: 'Group', group: { name } });
const user = (name: string): JsonObject => ({ kind: 'User', user: { name } });
const systemAccounts = { kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: '*' } };
const everyone = [group('system:unauthenticated'), group('system:authenticated')];

const resources = (
  verbs: readonly string[],
  apiGroup: string,
  names: readonly string[],
  clusterScope: boolean,
): JsonObject => ({
  verbs,
  apiGroups: [apiGroup],
  resources: names,
  ...(clusterScope && { clusterScope }),
  namespaces: ['*'],
});

/** All requests of the subjects. */
const everything = (...subjects: readonly JsonObject[]): JsonObject => ({
  subjects,
  resourceRules: [resources(['*'], '*', ['*'], true)],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
});

const schema = (
  name: string,
  [level, precedence]: readonly [string, number],
  flows: 'ByUser' | 'ByNamespace' | undefined,
  rule: JsonObject,
): FlowControlObject =>
  objectOf(name, {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence: precedence,
    ...(flows && { distinguisherMethod: { type: flows } }),
    rules: [rule],
  });

/** Schemas that an administrator may change. */
export const suggestedSchemas: readonly FlowControlObject[] = [
  schema('system-nodes', ['system', 500], 'ByUser', everything(group('system:nodes'))),
  schema('system-node-high', ['node-high', 400], 'ByUser', {
    subjects: [group('system:nodes')],
    resourceRules: [
      resources(['*'], '', ['nodes', 'nodes/status'], true),
      resources(['*'], 'coordination.k8s.io', ['leases'], false),
    ],
  }),
  schema('probes', ['exempt', 2], undefined, {
    subjects: everyone,
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
  }),
  schema('system-leader-election', ['leader-election', 100], 'ByUser', {
    subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler'), systemAccounts],
    resourceRules: [resources(['get', 'create', 'update'], 'coordination.k8s.io', ['leases'], false)],
  }),
  schema(
    'kube-controller-manager',
    ['workload-high', 800],
    'ByNamespace',
    everything(user('system:kube-controller-manager')),
  ),
  schema('kube-scheduler', ['workload-high', 800], 'ByNamespace', everything(user('system:kube-scheduler'))),
  schema('kube-system-service-accounts', ['workload-high', 900], 'ByNamespace', everything(systemAccounts)),
  schema('service-accounts', ['workload-low', 9000], 'ByUser', everything(group('system:serviceaccounts'))),
  schema('global-default', ['global-default', 9900], 'ByUser', everything(...everyone)),
];

/** Schemas whose specs are always the server's. */
export const mandatorySchemas: readonly FlowControlObject[] = [
  schema('exempt', ['exempt', 1], undefined, everything(group('system:masters'))),
  schema('catch-all', ['catch-all', 10_000], 'ByUser', everything(...everyone)),
];
