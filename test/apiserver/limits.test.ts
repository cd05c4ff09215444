import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { builtIn } from '../../src/apimachinery/kinds.ts';
import { usageOf } from '../../src/apiserver/admission/quotas.ts';
import { formatQuantity } from '../../src/kube/resources/quantity.ts';
import { call, pod } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ minimalScheduler: false });
});
afterAll(() => server.stop());

const post = (path: string, body: object): ReturnType<typeof call> =>
  call(server, 'POST', `/api/v1/${path}`, body);

let made = 0;

async function namespace(name: string, limits: readonly object[], hard: object = {}): Promise<void> {
  await post('namespaces', { metadata: { name } });
  if (limits.length > 0)
    await post(`namespaces/${name}/limitranges`, { metadata: { name: 'l' }, spec: { limits } });
  if (Object.keys(hard).length > 0)
    await post(`namespaces/${name}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
}

const sized = (limits: object, requests: object = {}): object => ({
  containers: [{ name: 'c', image: 'x', resources: { limits, requests } }],
});

test('containers get the limits of their namespace by default', async () => {
  await namespace('given', [
    { type: 'Container', default: { cpu: '1', memory: '1Gi' }, defaultRequest: { cpu: '100m' } },
  ]);
  expect(await post('namespaces/given/pods', pod('a'))).toMatchObject({
    status: 201,
    body: {
      metadata: {
        annotations: {
          'kubernetes.io/limit-ranger':
            'LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c',
        },
      },
      spec: {
        containers: [{ resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m' } } }],
      },
      status: { qosClass: 'Burstable' },
    },
  });
});

test.for([
  [
    'more than it may have',
    { max: { cpu: '2' } },
    sized({ cpu: '4' }),
    'maximum cpu usage per Container is 2, but limit is 4',
  ],
  ['no limit', { max: { memory: '1Gi' } }, { containers: [{ name: 'c', image: 'x' }] }, undefined],
  [
    'less than it must ask for',
    { min: { cpu: '1' } },
    sized({ cpu: '2' }, { cpu: '500m' }),
    'minimum cpu usage per Container is 1, but request is 500m',
  ],
  [
    'a limit far above its request',
    { maxLimitRequestRatio: { cpu: '2' } },
    sized({ cpu: '1' }, { cpu: '250m' }),
    'cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000',
  ],
] as const)('a container has %s', async ([what, item, spec, why]) => {
  const name = `n${made++}`;
  await namespace(name, [{ type: 'Container', ...item }]);
  const answer = await post(`namespaces/${name}/pods`, pod('p', spec));
  if (why === undefined)
    expect(answer.status, what).toBe(201); // the most is the default, too
  else expect(answer).toMatchObject({ status: 403, body: { message: `pods "p" is forbidden: ${why}` } });
});

test('a pod counts as a whole, and a claim by what it asks for', async () => {
  await namespace('whole', [
    { type: 'Pod', max: { cpu: '1' } },
    { type: 'PersistentVolumeClaim', max: { storage: '1Gi' } },
  ]);
  expect(await post('namespaces/whole/pods', pod('p', sized({ cpu: '2' })))).toMatchObject({
    body: { message: 'pods "p" is forbidden: maximum cpu usage per Pod is 1, but limit is 2' },
  });
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } };
  const claim = await post('namespaces/whole/persistentvolumeclaims', { metadata: { name: 'c' }, spec });
  expect(claim).toMatchObject({
    body: {
      message:
        'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi',
    },
  });
});

test('a quota is charged, refuses what is too much, and is counted anew', async () => {
  await namespace('few', [], { pods: '1', 'limits.cpu': '2' });
  const quota = (): ReturnType<typeof call> => call(server, 'GET', '/api/v1/namespaces/few/resourcequotas/q');
  expect(await post('namespaces/few/pods', pod('n'))).toMatchObject({
    status: 403,
    body: { message: 'pods "n" is forbidden: failed quota: q: must specify limits.cpu for: c' },
  });
  expect(await post('namespaces/few/pods', pod('a', sized({ cpu: '1' })))).toMatchObject({ status: 201 });
  expect(await quota()).toMatchObject({
    body: { status: { hard: { pods: '1' }, used: { pods: '1', 'limits.cpu': '1' } } },
  });
  expect(await post('namespaces/few/pods', pod('b', sized({ cpu: '1' })))).toMatchObject({
    status: 403,
    body: {
      message: 'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
    },
  });
  await call(server, 'DELETE', '/api/v1/namespaces/few/pods/a');
  expect(await quota()).toMatchObject({ body: { status: { used: { pods: '0', 'limits.cpu': '0' } } } });
});

test('objects cost by their kind', () => {
  const amounts = usageOf(builtIn('services'), {
    spec: { type: 'LoadBalancer', ports: [{ port: 1, nodePort: 2 }, { port: 3 }] },
  });
  expect(
    Object.fromEntries(Object.entries(amounts).map(([name, sum]) => [name, formatQuantity(sum)])),
  ).toEqual({
    'count/services': '1',
    services: '1',
    'services.loadbalancers': '1',
    'services.nodeports': '1',
  });
});

test('a volume stays where it lies', async () => {
  const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/x' } };
  await post('persistentvolumes', { metadata: { name: 'pv' }, spec });
  const moved = await call(
    server,
    'PATCH',
    '/api/v1/persistentvolumes/pv',
    { spec: { hostPath: { path: '/y' } } },
    'application/merge-patch+json',
  );
  expect(String(moved.body['message'])).toContain(
    'is immutable after creation\n@@ -2,7 +2,7 @@\n  "GCEPersistentDisk": null,\n  "AWSElasticBlockStore": null,\n  "HostPath": {\n-  "Path": "/x",',
  );
});
