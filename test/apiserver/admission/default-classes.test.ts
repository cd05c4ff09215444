import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { type Answer, call } from '../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
});
afterAll(() => server.stop());

const specOf = ({ status, body }: Answer): object => {
  expect(status).toBe(201);
  return (body as unknown as { readonly spec: object }).spec;
};

test('a claim without a class gets the default one; an empty class is a choice', async () => {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const claim = (name: string, spec: object = {}, metadata: object = {}): Promise<Answer> =>
    call(server, 'POST', '/api/v1/namespaces/default/persistentvolumeclaims', {
      metadata: { name, ...metadata },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } }, ...spec },
    });
  expect(specOf(await claim('before'))).not.toHaveProperty('storageClassName');
  for (const name of ['b', 'a'])
    await call(server, 'POST', '/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name, annotations },
      provisioner: 'x',
    });
  expect(specOf(await claim('none'))).toMatchObject({
    storageClassName: expect.stringMatching(/^[ab]$/) as string,
  });
  expect(specOf(await claim('empty', { storageClassName: '' }))).toMatchObject({ storageClassName: '' });
  const old = { annotations: { 'volume.beta.kubernetes.io/storage-class': 'z' } };
  expect(specOf(await claim('old', {}, old))).not.toHaveProperty('storageClassName');
});

test('an ingress without a class gets the default one, unless an annotation names one', async () => {
  await call(server, 'POST', '/apis/networking.k8s.io/v1/ingressclasses', {
    metadata: { name: 'in', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
    spec: { controller: 'a.b/c' },
  });
  const ingress = (name: string, metadata: object = {}): Promise<Answer> =>
    call(server, 'POST', '/apis/networking.k8s.io/v1/namespaces/default/ingresses', {
      metadata: { name, ...metadata },
      spec: { defaultBackend: { service: { name: 's', port: { number: 1 } } } },
    });
  expect(specOf(await ingress('a'))).toMatchObject({ ingressClassName: 'in' });
  const named = { annotations: { 'kubernetes.io/ingress.class': 'z' } };
  expect(specOf(await ingress('b', named))).not.toHaveProperty('ingressClassName');
});
