import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
});
afterAll(() => server.stop());

const merge = 'application/merge-patch+json';
const condition = {
  type: 'X',
  status: 'True',
  reason: 'R',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

/** Patches a status; the code, and the fields that are refused. */
async function patched(path: string, status: object): Promise<readonly [number, ...string[]]> {
  const answer = await call(server, 'PATCH', `${path}/status`, { status }, merge);
  const { details } = answer.body as { details?: { causes?: readonly { readonly field: string }[] } };
  const causes = details?.causes ?? [];
  return [answer.status, ...causes.map(({ field }) => field)];
}

test('conditions of a budget have the common form', async () => {
  const path = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  await call(server, 'POST', path, { metadata: { name: 'b' }, spec: { minAvailable: 1 } });
  const counts = { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  const status = { ...counts, disruptionsAllowed: -1, conditions: [{ ...condition, reason: '1' }] };
  expect(await patched(`${path}/b`, status)).toEqual([
    422,
    'status.conditions[0].reason',
    'status.disruptionsAllowed',
  ]);
  const right = { ...counts, disruptionsAllowed: 0, conditions: [condition] };
  expect(await patched(`${path}/b`, right)).toEqual([200]);
});

test('conditions of a policy have the common form', async () => {
  const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
  const rule = { operations: ['CREATE'], apiGroups: ['x'], apiVersions: ['v1'], resources: ['ys'] };
  const spec = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }] };
  await call(server, 'POST', path, { metadata: { name: 'p' }, spec });
  expect(await patched(`${path}/p`, { conditions: [{ ...condition, status: 'Maybe' }] })).toEqual([
    422,
    'status.conditions[0].status',
  ]);
  expect(await patched(`${path}/p`, { observedGeneration: 1, conditions: [condition] })).toEqual([200]);
});

test('only a service of type LoadBalancer has load balancers, whose addresses have a mode', async () => {
  const path = '/api/v1/namespaces/default/services';
  const ports = [{ port: 80 }];
  const ingress = [{ ip: '192.0.2.1' }];
  await call(server, 'POST', path, { metadata: { name: 'inner' }, spec: { ports } });
  await call(server, 'POST', path, { metadata: { name: 'outer' }, spec: { type: 'LoadBalancer', ports } });
  expect(await patched(`${path}/inner`, { loadBalancer: { ingress } })).toEqual([
    422,
    'status.loadBalancer.ingress',
  ]);
  const odd = [{ ip: '1.2.3' }, { hostname: '192.0.2.1' }, { hostname: 'a.b', ipMode: 'VIP' }];
  expect(await patched(`${path}/outer`, { loadBalancer: { ingress: odd } })).toEqual([
    422,
    'status.loadBalancer.ingress[0].ip',
    'status.loadBalancer.ingress[1].hostname',
    'status.loadBalancer.ingress[2].ipMode',
  ]);
  expect(await patched(`${path}/outer`, { loadBalancer: { ingress } })).toEqual([200]);
  expect((await call(server, 'GET', `${path}/outer`)).body).toMatchObject({
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }] } },
  });
});
