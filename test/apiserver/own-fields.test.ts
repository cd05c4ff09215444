import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
});
afterAll(() => server.stop());

const path = (resource: string): string => `/api/v1/namespaces/default/${resource}`;
const messageOf = (answer: { readonly body: object }): string =>
  String((answer.body as { message?: unknown }).message);

test.for([
  [
    'services',
    { ports: [{ port: 80 }], externalIPs: ['127.0.0.1'] },
    'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    'services',
    { ports: [{ port: 80 }], externalIPs: ['0.0.0.0'] },
    'spec.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
  ],
  [
    'services',
    { ports: [{ port: 80 }], externalIPs: ['fe80::1'] },
    'spec.externalIPs[0]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  ],
  [
    'services',
    { ports: [{ port: 80 }], externalIPs: ['010.0.0.1'] },
    'spec.externalIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s',
  ],
  [
    'services',
    { ports: [{ port: 80 }], type: 'LoadBalancer', loadBalancerSourceRanges: [' 1.2.3.4 ', '1.0.0.0/8'] },
    'spec.LoadBalancerSourceRanges[0]: Invalid value: "1.2.3.4": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
  ],
  [
    'services',
    { ports: [{ port: 80 }], type: 'LoadBalancer', loadBalancerSourceRanges: ['01.0.0.0/8'] },
    'spec.LoadBalancerSourceRanges[0]: Invalid value: "01.0.0.0/8": must not have leading 0s in IP or prefix length',
  ],
  [
    'resourcequotas',
    { hard: { foo: '1' } },
    '[spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified, spec.hard[foo]: Invalid value: "foo": must be a standard resource for quota]',
  ],
  [
    'resourcequotas',
    { hard: { pods: '-1' } },
    'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0',
  ],
  [
    'resourcequotas',
    { hard: { pods: '1500m' } },
    'spec.hard[pods]: Invalid value: "1500m": must be an integer',
  ],
  [
    'resourcequotas',
    { hard: { pods: '1' }, scopes: ['Foo'] },
    'spec.scopes: Invalid value: ["Foo"]: unsupported scope',
  ],
  [
    'resourcequotas',
    { hard: { cpu: '1' }, scopes: ['BestEffort'] },
    'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
  ],
  [
    'resourcequotas',
    { hard: { pods: '1' }, scopes: ['Terminating', 'NotTerminating'] },
    'spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes',
  ],
  [
    'resourcequotas',
    { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In' }] } },
    "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
  ],
  [
    'limitranges',
    { limits: [{ type: 'Foo' }] },
    'spec.limits[0].type: Invalid value: "Foo": must be a standard limit type or fully qualified',
  ],
  [
    'limitranges',
    { limits: [{ type: 'Pod' }, { type: 'Pod' }] },
    'spec.limits[1].type: Duplicate value: "Pod"',
  ],
  [
    'limitranges',
    { limits: [{ type: 'Pod', default: { cpu: '1' } }] },
    "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
  ],
  [
    'limitranges',
    { limits: [{ type: 'PersistentVolumeClaim' }] },
    'spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided',
  ],
  [
    'limitranges',
    { limits: [{ type: 'Pod', min: { cpu: '2' }, max: { cpu: '1' } }] },
    'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
  ],
  [
    'limitranges',
    { limits: [{ type: 'Pod', max: { storage: '1' } }] },
    'spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers',
  ],
  [
    'limitranges',
    { limits: [{ type: 'Pod', min: { cpu: '1' }, max: { cpu: '3' }, maxLimitRequestRatio: { cpu: '4' } }] },
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is greater than max/min = 3.000000',
  ],
  [
    'limitranges',
    { limits: [{ type: 'Pod', maxLimitRequestRatio: { cpu: '500m' } }] },
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
  ],
] as const)('%s %j is refused', async ([resource, spec, why]) => {
  const answer = await call(server, 'POST', path(resource), { metadata: { name: 'x' }, spec });
  expect(answer.status).toBe(422);
  expect(messageOf(answer)).toContain(`"x" is invalid: ${why}`);
});

test.for([
  [[{}], 'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`'],
  [
    [{ addresses: [{ ip: '1.2.3' }] }],
    'subsets[0].addresses[0].ip: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff), subsets[0].addresses[0].ip: Invalid value: "1.2.3": must be a valid IP address',
  ],
  [
    [{ addresses: [{ ip: '127.0.0.1' }] }],
    'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    [{ addresses: [{ ip: '1.2.3.4' }], ports: [{ port: 1 }, { port: 0, name: 'a' }] }],
    'subsets[0].ports[0].name: Required value, subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive',
  ],
  [
    [{ addresses: [{ ip: '1.2.3.4' }], ports: [{ port: 1, protocol: 'X' }] }],
    'subsets[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
  ],
] as const)('endpoints %j are refused', async ([subsets, why]) => {
  const answer = await call(server, 'POST', path('endpoints'), { metadata: { name: 'x' }, subsets });
  expect(answer.status).toBe(422);
  expect(messageOf(answer)).toContain(why);
});

test.for([
  [
    { clusterIP: 'None', sessionAffinity: 'ClientIP' },
    'spec.SessionAffinity is ignored for headless services',
  ],
  [
    { externalIPs: ['fd00:0::1'] },
    'spec.externalIPs[0]: IPv6 address \\"fd00:0::1\\" should be in RFC 5952 canonical format (\\"fd00::1\\")',
  ],
  [
    { externalIPs: ['1.2.3.4'] },
    'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
  ],
  [{ externalName: 'a.b' }, 'spec.externalName is ignored when spec.type is not \\"ExternalName\\"'],
  [
    { trafficDistribution: 'PreferClose' },
    'spec.trafficDistribution: \\"PreferClose\\" is deprecated; use \\"PreferSameZone\\"',
  ],
] as const)('a service of %j is taken with a warning', async ([spec, warning]) => {
  const service = { metadata: { name: '1st' }, spec: { ports: [{ port: 80 }], ...spec } };
  const answer = await call(server, 'POST', `${path('services')}?dryRun=All`, service);
  expect(answer.status).toBe(201);
  expect(String(answer.headers.warning)).toContain(`299 - "${warning}"`);
});

test('a port for questions about health out of range is a failure of the server', async () => {
  const spec = {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 5,
    ports: [{ port: 1 }],
  };
  expect(await call(server, 'POST', path('services'), { metadata: { name: 'h' }, spec })).toMatchObject({
    status: 500,
    body: {
      reason: 'InternalError',
      message:
        'Internal error occurred: failed to allocate requested HealthCheck NodePort 5: provided port is not in the valid range. The range of valid ports is 30000-32767',
    },
  });
});

test('the scopes of a quota stay', async () => {
  const quota = { metadata: { name: 'q' }, spec: { hard: { pods: '1' }, scopes: ['BestEffort'] } };
  expect((await call(server, 'POST', path('resourcequotas'), quota)).status).toBe(201);
  const type = 'application/merge-patch+json';
  const change = { spec: { scopes: ['Terminating'] } };
  const answer = await call(server, 'PATCH', path('resourcequotas/q'), change, type);
  expect(messageOf(answer)).toContain('spec.scopes: Invalid value: ["Terminating"]: field is immutable');
});

const nodes = '/api/v1/nodes';
const spaces = '/api/v1/namespaces';
const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

test.for([
  [
    nodes,
    { spec: { taints: [{ key: 'a b', effect: 'NoSchedule' }] } },
    'metadata.taints[0].key: Invalid value: "a b": name part must',
  ],
  [
    nodes,
    { spec: { taints: [{ key: 'a', value: 'b c', effect: 'NoSchedule' }] } },
    'metadata.taints[0].value: Invalid value: "b c": a valid label must',
  ],
  [
    nodes,
    { status: { capacity: { pods: '1.5' } } },
    'status.capacity.pods: Invalid value: "1500m": must be an integer',
  ],
  [
    nodes,
    { status: { allocatable: { cpu: '-1' } } },
    'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
  ],
  [
    nodes,
    { spec: { podCIDR: 'abc' } },
    'spec.podCIDRs[0]: Invalid value: "abc": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
  ],
  [
    nodes,
    { spec: { podCIDRs: ['10.0.0.0/24', '10.1.0.0/24'] } },
    'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one CIDR for each IP family',
  ],
  [
    spaces,
    { spec: { finalizers: ['foo'] } },
    'spec.finalizers: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
  ],
  [
    budgets,
    { spec: { minAvailable: 1, maxUnavailable: 1 } },
    'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
  ],
  [
    budgets,
    { spec: { minAvailable: -1 } },
    'spec.minAvailable: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    budgets,
    { spec: { maxUnavailable: '101%' } },
    'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
  ],
  [
    budgets,
    { spec: { minAvailable: 'x' } },
    'spec.minAvailable: Invalid value: "x": a valid percent string must be a numeric string',
  ],
  [
    budgets,
    { spec: { unhealthyPodEvictionPolicy: 'X' } },
    'spec.unhealthyPodEvictionPolicy: Unsupported value: "X": supported values: "AlwaysAllow", "IfHealthyBudget"',
  ],
] as const)('%s refuses %j', async ([to, object, why]) => {
  const answer = await call(server, 'POST', `${to}?dryRun=All`, { metadata: { name: 'x' }, ...object });
  expect(answer.status).toBe(422);
  expect(messageOf(answer)).toContain(why);
});

test('a namespace is active until it is deleted, and addresses of a node are unique', async () => {
  const type = 'application/merge-patch+json';
  const phase = await call(
    server,
    'PATCH',
    `${spaces}/default/status`,
    { status: { phase: 'Terminating' } },
    type,
  );
  expect(messageOf(phase)).toContain(
    `status.Phase: Invalid value: "Terminating": may only be 'Active' if \`deletionTimestamp\` is empty`,
  );
  await call(server, 'POST', nodes, { metadata: { name: 'twice' } });
  const address = { type: 'InternalIP', address: '1.1.1.1' };
  const twice = { status: { addresses: [address, address] } };
  expect(messageOf(await call(server, 'PATCH', `${nodes}/twice/status`, twice, type))).toContain(
    'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.1.1.1"}',
  );
});
