import { expect, test } from 'vitest';
import { builtIn, kinds } from '../../src/apimachinery/kinds.ts';
import { columnsOf, rowOf } from '../../src/apiserver/printers/table.ts';

const now = Date.parse('2020-01-01T01:00:00Z');
const metadata = { name: 'n', creationTimestamp: '2020-01-01T00:00:00Z' };
const template = {
  metadata: { labels: { a: 'b' } },
  spec: {
    containers: [
      { name: 'c', image: 'x' },
      { name: 'd', image: 'y' },
    ],
    nodeSelector: { k: 'v' },
  },
};
const selector = {
  matchLabels: { b: '2' },
  matchExpressions: [
    { key: 'a', operator: 'In', values: ['y', 'x'] },
    { key: 'c', operator: 'DoesNotExist' },
  ],
};
const quantity = { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } };

test.for([
  ['', 'podtemplates', { template }, ['n', 'c,d', 'x,y', 'a=b']],
  [
    '',
    'replicationcontrollers',
    { spec: { replicas: 3, selector: { a: 'b' }, template }, status: { replicas: 2, readyReplicas: 1 } },
    ['n', 3, 2, 1, '60m', 'c,d', 'x,y', 'a=b'],
  ],
  [
    'apps',
    'replicasets',
    { spec: { replicas: 3, selector, template }, status: { replicas: 2 } },
    ['n', 3, 2, 0, '60m', 'c,d', 'x,y', 'a in (x,y),b=2,!c'],
  ],
  [
    'apps',
    'daemonsets',
    { spec: { selector: {}, template }, status: { desiredNumberScheduled: 4, numberReady: 2 } },
    ['n', 4, 0, 2, 0, 0, 'k=v', '60m', 'c,d', 'x,y', '<none>'],
  ],
  [
    'apps',
    'statefulsets',
    { spec: { replicas: 2, template }, status: {} },
    ['n', '0/2', '60m', 'c,d', 'x,y'],
  ],
  [
    'apps',
    'deployments',
    { spec: { replicas: 2, selector, template }, status: { readyReplicas: 1, updatedReplicas: 2 } },
    ['n', '1/2', 2, 0, '60m', 'c,d', 'x,y', 'a in (x,y),b=2,!c'],
  ],
  [
    'apps',
    'controllerrevisions',
    {
      revision: 3,
      metadata: {
        ...metadata,
        ownerReferences: [{ controller: true, apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'o' }],
      },
    },
    ['n', 'daemonset.apps/o', 3, '60m'],
  ],
  [
    'batch',
    'jobs',
    {
      spec: { parallelism: 2, template },
      status: { succeeded: 1, startTime: '2020-01-01T00:59:00Z' },
    },
    ['n', 'Running', '1/1 of 2', '60s', '60m', 'c,d', 'x,y', '<none>'],
  ],
  [
    'batch',
    'cronjobs',
    { spec: { schedule: '* * * * *', suspend: false, jobTemplate: { spec: { template } } }, status: {} },
    ['n', '* * * * *', '<none>', 'False', 0, '<none>', '60m', 'c,d', 'x,y', '<none>'],
  ],
  [
    'policy',
    'poddisruptionbudgets',
    { spec: { minAvailable: '50%' }, status: { disruptionsAllowed: 1 } },
    ['n', '50%', 'N/A', 1, '60m'],
  ],
  [
    'autoscaling',
    'horizontalpodautoscalers',
    {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd' },
        maxReplicas: 5,
        metrics: [
          { type: 'Resource', resource: quantity },
          { type: 'Pods', pods: { target: { averageValue: '3' } } },
          { type: 'Odd' },
        ],
      },
      status: {
        currentReplicas: 2,
        currentMetrics: [{ type: 'Resource', resource: { current: { averageUtilization: 7 } } }],
      },
    },
    ['n', 'Deployment/d', 'cpu: 7%/80%, <unknown>/3 + 1 more...', '<unset>', 5, 2, '60m'],
  ],
  [
    '',
    'services',
    {
      spec: { type: 'LoadBalancer', clusterIPs: ['10.0.0.1'], externalIPs: ['1.1.1.1'], ports: [] },
      status: { loadBalancer: { ingress: [{ ip: '3.3.3.3' }, { hostname: '2.a' }] } },
    },
    ['n', 'LoadBalancer', '10.0.0.1', '2.a,3.3.3.3,1.1.1.1', '<none>', '60m', '<none>'],
  ],
  [
    '',
    'endpoints',
    {
      subsets: [
        { addresses: [{ ip: '1.1.1.1' }, { ip: 'fd00::1' }], ports: [{ port: 80 }, { port: 443 }] },
        { addresses: [{ ip: '2.2.2.2' }] },
      ],
    },
    ['n', '1.1.1.1:80,[fd00::1]:80,1.1.1.1:443 + 2 more...', '60m'],
  ],
  [
    'discovery.k8s.io',
    'endpointslices',
    { addressType: 'IPv4', ports: [{ port: 80 }, { name: 'p' }, {}], endpoints: [] },
    ['n', 'IPv4', '80,p,*', '<unset>', '60m'],
  ],
  [
    'networking.k8s.io',
    'ingresses',
    { spec: { rules: [{ host: 'a' }, { host: 'b' }, { host: 'c' }, {}], tls: [{}] }, status: {} },
    ['n', '<none>', 'a,b,c + 1 more...', '', '80, 443', '60m'],
  ],
  [
    'networking.k8s.io',
    'ingressclasses',
    { spec: { controller: 'a/b', parameters: { apiGroup: 'g', kind: 'K', name: 'p' } } },
    ['n', 'a/b', 'K.g/p', '60m'],
  ],
  ['networking.k8s.io', 'networkpolicies', { spec: { podSelector: {} } }, ['n', '<none>', '60m']],
  ['apiregistration.k8s.io', 'apiservices', { spec: {} }, ['n', 'Local', 'Unknown', '60m']],
  ['networking.k8s.io', 'servicecidrs', { spec: { cidrs: ['a', 'b'] } }, ['n', 'a,b', '60m']],
  [
    'networking.k8s.io',
    'ipaddresses',
    { spec: { parentRef: { resource: 'services', namespace: 'default', name: 'kubernetes' } } },
    ['n', 'services/default/kubernetes', '60m'],
  ],
  [
    '',
    'resourcequotas',
    {
      status: {
        hard: { pods: '5', 'limits.cpu': '2', 'requests.cpu': '1' },
        used: { pods: '1', 'limits.cpu': '1500m' },
      },
    },
    ['n', 'pods: 1/5, requests.cpu: 0/1', 'limits.cpu: 1500m/2', '60m'],
  ],
  [
    'rbac.authorization.k8s.io',
    'rolebindings',
    {
      roleRef: { kind: 'ClusterRole', name: 'view' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'User', name: 'v' },
        { kind: 'ServiceAccount', namespace: 's', name: 'a' },
      ],
    },
    ['n', 'ClusterRole/view', '60m', 'u, v', '', 's/a'],
  ],
  ['rbac.authorization.k8s.io', 'roles', {}, ['n', '2020-01-01T00:00:00Z']],
  [
    'storage.k8s.io',
    'storageclasses',
    {
      metadata: { ...metadata, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'p',
    },
    ['n (default)', 'p', 'Delete', 'Immediate', false, '60m'],
  ],
  [
    'storage.k8s.io',
    'csidrivers',
    { spec: { tokenRequests: [{ audience: 'a' }] } },
    ['n', true, false, false, 'a', false, '<none>', '60m'],
  ],
  ['storage.k8s.io', 'csinodes', { spec: { drivers: [{}] } }, ['n', 1, '60m']],
  [
    'storage.k8s.io',
    'volumeattachments',
    { spec: { attacher: 'a', nodeName: 'o', source: { persistentVolumeName: 'pv' } } },
    ['n', 'a', 'pv', 'o', false, '60m'],
  ],
  [
    'flowcontrol.apiserver.k8s.io',
    'prioritylevelconfigurations',
    {
      spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
    },
    ['n', 'Limited', 5, '<none>', '<none>', '<none>', '60m'],
  ],
  [
    'resource.k8s.io',
    'resourceclaims',
    { status: { allocation: {}, reservedFor: [{}] } },
    ['n', 'allocated,reserved', '60m'],
  ],
  ['', 'serviceaccounts', { secrets: [{}] }, ['n', '60m']],
] as const)('%s/%s as kubectl get shows it', ([group, resource, object, cells]) => {
  const kind = kinds.find((one) => one.group === group && one.resource === resource);
  if (!kind) throw new Error(`no kind ${group}/${resource}`);
  expect(rowOf(kind, { metadata, ...object }, now, undefined).cells).toEqual(cells);
});

test('columns say of what type they are, and which are for -o wide alone', () => {
  const shown = columnsOf(builtIn('daemonsets', 'apps')).map(({ name, type, priority }) =>
    [name, type, priority].join(' '),
  );
  expect(shown).toContain('Desired integer 0');
  expect(shown).toContain('Selector string 1');
  expect(columnsOf(builtIn('limitranges')).map(({ name, type }) => [name, type])).toEqual([
    ['Name', 'string'],
    ['Created At', 'date'],
  ]);
});

const done = (name: string, exitCode: number): object => ({
  name,
  restartCount: 1,
  state: { terminated: { exitCode, reason: exitCode ? 'Error' : 'Completed' } },
});

test.for([
  ['one of its containers has failed', [done('a', 0), done('b', 1)], '0/2', 'Error'],
  ['all is done', [done('a', 0), done('b', 0)], '0/2', 'Completed'],
] as const)('a pod where %s', ([, containerStatuses, ready, reason]) => {
  const pod = {
    metadata,
    spec: { containers: [{ name: 'a' }, { name: 'b' }], initContainers: [{ name: 'i' }] },
    status: { phase: 'Running', containerStatuses, initContainerStatuses: [done('i', 0)] },
  };
  expect(rowOf(builtIn('pods'), pod, now, undefined).cells.slice(1, 4)).toEqual([ready, reason, '2']);
});
