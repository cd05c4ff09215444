import { afterEach, beforeEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { installCrds } from '../../src/envtest/crds.ts';
import { call } from '../apiserver/support.ts';

let server: EmbeddedApiServer;
beforeEach(async () => {
  server = await EmbeddedApiServer.start();
});
afterEach(async () => {
  await server.stop();
});

const connection = () => ({ server: server.url, ca: server.ca, ...server.admin });
const crd = (plural: string, size: string, kind = 'Room'): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural, kind },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { size: { type: size } } } },
      },
    ],
  },
});

test('definitions are created, updated when they are there, and served when it returns', async () => {
  const other = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } };
  expect(await installCrds(connection(), [crd('rooms', 'integer'), other])).toHaveLength(1);
  await installCrds(connection(), [crd('rooms', 'boolean'), crd('rooms', 'string')]);
  const path = '/apis/example.com/v1/namespaces/default/rooms';
  const room = { apiVersion: 'example.com/v1', kind: 'Room', metadata: { name: 'a' }, size: 'big' };
  expect((await call(server, 'POST', path, room)).status).toBe(201);
});

test('a definition that the server rejects is named, with where it was read', async () => {
  await expect(installCrds(connection(), [crd('rooms', 'nonsense')])).rejects.toThrow(
    /CustomResourceDefinition "rooms\.example\.com" \(crds\[0\]\): .*Unsupported value: "nonsense"/,
  );
});
