import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
});
afterAll(() => server.stop());

const path = '/api/v1/namespaces/default/services';
const ports = [{ port: 80 }];
const create = (name: string, spec: object): ReturnType<typeof call> =>
  call(server, 'POST', path, { metadata: { name }, spec });
const patch = (name: string, spec: object): ReturnType<typeof call> =>
  call(server, 'PATCH', `${path}/${name}`, { spec }, 'application/merge-patch+json');

test.for([
  ['nothing', {}, ['spec.ports']],
  ['a name of nowhere', { type: 'ExternalName' }, ['spec.externalName']],
  ['an address that is none', { clusterIP: 'x', ports }, ['spec.clusterIPs[0]']],
  ['a node port in the cluster', { ports: [{ port: 80, nodePort: 30_080 }] }, ['spec.ports[0].nodePort']],
  ['a headless door', { type: 'NodePort', clusterIP: 'None', ports }, ['spec.clusterIPs[0]']],
  [
    'a target without a good name',
    { ports: [{ port: 80, targetPort: 'A_' }] },
    ['spec.ports[0].targetPort', 'spec.ports[0].targetPort'],
  ],
  ['an affinity that is none', { sessionAffinity: 'x', ports }, ['spec.sessionAffinity']],
  ['two families where there is one', { ipFamilyPolicy: 'RequireDualStack', ports }, ['spec.ipFamilyPolicy']],
  ['traffic from outside', { externalTrafficPolicy: 'Local', ports }, ['spec.externalTrafficPolicy']],
] as const)('a service is refused: %s', async ([, spec, fields]) => {
  const { status, body } = await create('bad', spec);
  const { causes = [] } =
    (body as { readonly details?: { readonly causes?: readonly { readonly field: string }[] } }).details ??
    {};
  expect([status, causes.map(({ field }) => field)]).toEqual([422, fields]);
});

test('a headless service without a selector is of both families', async () => {
  expect(await create('open', { clusterIP: 'None' })).toMatchObject({
    status: 201,
    body: {
      spec: { clusterIPs: ['None'], ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' },
    },
  });
  expect(await create('picky', { clusterIP: 'None', selector: { a: 'b' } })).toMatchObject({
    body: { spec: { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' } },
  });
});

test('a service gets and loses what its type has', async () => {
  const made = await create('turn', { type: 'NodePort', ports });
  expect(made).toMatchObject({ status: 201 });
  const closed = await patch('turn', { type: 'ClusterIP' });
  expect(closed.status).toBe(200);
  expect(closed.body['spec']).not.toHaveProperty('externalTrafficPolicy');
  expect(closed.body['spec']).not.toHaveProperty('ports.0.nodePort');
  expect(await patch('turn', { type: 'NodePort' })).toMatchObject({
    body: { spec: { externalTrafficPolicy: 'Cluster', ports: [{ nodePort: expect.any(Number) as number }] } },
  });
  const elsewhere = await patch('turn', {
    type: 'ExternalName',
    externalName: 'a.b',
    internalTrafficPolicy: null,
  });
  expect(elsewhere).toMatchObject({ status: 200 });
  expect(elsewhere.body['spec']).not.toHaveProperty('clusterIP');
});

test('a service that is a name elsewhere takes no address', async () => {
  await create('name', { type: 'ExternalName', externalName: 'a.b' });
  expect(await patch('name', { clusterIP: '10.97.9.9', clusterIPs: ['10.97.9.9'] })).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('may not be set for ExternalName services') as string },
  });
});

test('who moves the one address moves the list of them, and neither moves', async () => {
  await create('still', { ports });
  const moved = async (spec: object): Promise<unknown> => (await patch('still', spec)).body['message'];
  const other = ['10.97.250.250'];
  const list = JSON.stringify(other);
  expect(await moved({ clusterIP: other[0] })).toBe(
    `Service "still" is invalid: spec.clusterIPs[0]: Invalid value: ${list}: may not change once set`,
  );
  expect(await moved({ clusterIPs: other })).toBe(
    `Service "still" is invalid: spec.clusterIPs: Invalid value: ${list}: first value must match \`clusterIP\``,
  );
  const elsewhere = await patch('still', { type: 'ExternalName', externalName: 'x.y' });
  expect(elsewhere.body['spec']).not.toHaveProperty('internalTrafficPolicy');
});

test('an address is kept under a name', async () => {
  const { status, body } = await call(server, 'POST', path, { spec: { ports } });
  expect(status).toBe(422);
  expect(body['message']).toMatch(
    /^Service "" is invalid: spec\.clusterIPs: Invalid value: \[""\]: failed to allocate IP: IPAddress\.networking\.k8s\.io "10\.97\.\d+\.\d+" is invalid: spec\.parentRef\.name: Required value$/,
  );
});

test('ports are given out before the rest is looked at', async () => {
  const spec = {
    type: 'NodePort',
    ports: [{ port: 80, nodePort: 80 }],
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
  };
  const { body } = await create('early', spec);
  expect(body['message']).toMatch(/^Service "early" is invalid: spec\.ports\[0\]\.nodePort: [^[]+$/);
});

test('ports that are none are the same, too', async () => {
  const { body } = await create('zero', { ports: [{ name: 'a' }, { name: 'b' }] });
  expect(body['message']).toContain(
    'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":0,"TargetPort":0,"NodePort":0}',
  );
});
