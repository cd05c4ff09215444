import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { call } from '../support.ts';

const merge = 'application/merge-patch+json';
const flow = '/apis/flowcontrol.apiserver.k8s.io/v1';
const networking = '/apis/networking.k8s.io/v1';
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices';
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
const configMaps = '/api/v1/namespaces/kube-system/configmaps';

interface Item {
  readonly metadata: { readonly name: string; readonly labels?: object };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly object[] };
}

const started = async (
  options: Parameters<typeof EmbeddedApiServer.start>[0] = {},
): Promise<EmbeddedApiServer> => {
  const server = await EmbeddedApiServer.start(options);
  onTestFinished(() => server.stop());
  return server;
};

const itemsAt = async (server: EmbeddedApiServer, path: string): Promise<readonly Item[]> =>
  (await call(server, 'GET', path)).body['items'] as unknown as readonly Item[];

const namesAt = async (server: EmbeddedApiServer, path: string): Promise<readonly string[]> =>
  (await itemsAt(server, path)).map(({ metadata }) => metadata.name);

test('each group and version with a priority has an available API service', async () => {
  const server = await started();
  const services = await itemsAt(server, apiServices);
  const groups = (await call(server, 'GET', '/apis')).body['groups'] as unknown as readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
  }[];
  const served = groups
    .filter(({ name }) => name !== 'apiregistration.k8s.io')
    .flatMap(({ name, versions }) => versions.map(({ version }) => `${version}.${name}`));
  expect(services.map(({ metadata }) => metadata.name)).toEqual(['v1.', ...served].sort());
  for (const { metadata, status } of services) {
    expect(metadata.labels).toEqual({ 'kube-aggregator.kubernetes.io/automanaged': 'onstart' });
    expect(status?.conditions).toMatchObject([{ type: 'Available', status: 'True', reason: 'Local' }]);
  }
});

test('the API service of a custom group comes and goes with its definition, and is restored', async () => {
  const server = await started();
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const schema = { openAPIV3Schema: { type: 'object' } };
  const definition = {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
  await call(server, 'POST', path, definition);
  const own = `${apiServices}/v1.example.com`;
  const spec = { group: 'example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 };
  expect((await call(server, 'GET', own)).body).toMatchObject({
    metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' } },
    spec,
  });
  await call(server, 'PATCH', own, { spec: { versionPriority: 7 } }, merge);
  expect((await call(server, 'GET', own)).body).toMatchObject({ spec });
  await call(server, 'DELETE', own);
  expect((await call(server, 'GET', own)).status).toBe(200);
  await call(server, 'DELETE', `${path}/widgets.example.com`);
  expect((await call(server, 'GET', own)).status).toBe(404);
});

test('mandatory levels are always restored, suggested ones unless their annotation prevents that', async () => {
  const clock = new FakeClock();
  const server = await started({ clock });
  const [exempt, system] = [`${flow}/flowschemas/exempt`, `${flow}/flowschemas/system-nodes`];
  const kept = { metadata: { annotations: { 'apf.kubernetes.io/autoupdate-spec': 'false' } } };
  await call(server, 'PATCH', exempt, { ...kept, spec: { rules: null } }, merge);
  await call(server, 'PATCH', system, { ...kept, spec: { matchingPrecedence: 501 } }, merge);
  await call(server, 'PATCH', `${flow}/flowschemas/probes`, { spec: { matchingPrecedence: 3 } }, merge);
  await call(server, 'DELETE', `${flow}/prioritylevelconfigurations/system`);
  await clock.advance(60_000);
  const schemas = new Map(
    (await itemsAt(server, `${flow}/flowschemas`)).map((one) => [one.metadata.name, one]),
  );
  expect(schemas.get('exempt')).toMatchObject({
    metadata: { annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' } },
    spec: { rules: [{ subjects: [{ group: { name: 'system:masters' } }] }] },
  });
  expect(schemas.get('system-nodes')?.spec).toMatchObject({ matchingPrecedence: 501 });
  expect(schemas.get('probes')?.spec).toMatchObject({ matchingPrecedence: 2 });
  expect(await namesAt(server, `${flow}/prioritylevelconfigurations`)).toContain('system');
});

test('a flow schema is dangling while its level is missing', async () => {
  const server = await started();
  const path = `${flow}/flowschemas/mine`;
  const conditions = async (): Promise<unknown> =>
    ((await call(server, 'GET', path)).body as unknown as Item).status?.conditions;
  const spec = { priorityLevelConfiguration: { name: 'my-level' } };
  await call(server, 'POST', `${flow}/flowschemas`, { metadata: { name: 'mine' }, spec });
  expect(await conditions()).toMatchObject([{ type: 'Dangling', status: 'True', reason: 'NotFound' }]);
  const limited = { limitResponse: { type: 'Reject' } };
  const level = { metadata: { name: 'my-level' }, spec: { type: 'Limited', limited } };
  await call(server, 'POST', `${flow}/prioritylevelconfigurations`, level);
  expect(await conditions()).toMatchObject([{ type: 'Dangling', status: 'False', reason: 'Found' }]);
});

test('the range of services is ready, and each service address is an object', async () => {
  const server = await started({ serviceClusterIpRange: '10.5.0.0/24' });
  expect(await itemsAt(server, `${networking}/servicecidrs`)).toMatchObject([
    {
      metadata: { name: 'kubernetes' },
      spec: { cidrs: ['10.5.0.0/24'] },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
  ]);
  expect(await namesAt(server, `${networking}/ipaddresses`)).toEqual(['10.5.0.1']);
  const services = '/api/v1/namespaces/default/services';
  const spec = { clusterIP: '10.5.0.9', ports: [{ port: 80 }] };
  await call(server, 'POST', services, { metadata: { name: 'web' }, spec });
  expect((await call(server, 'GET', `${networking}/ipaddresses/10.5.0.9`)).body).toMatchObject({
    metadata: { labels: { 'ipaddress.kubernetes.io/ip-family': 'IPv4' } },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
  });
  await call(
    server,
    'PATCH',
    `${services}/web`,
    { spec: { type: 'ExternalName', externalName: 'a.b', clusterIP: null, clusterIPs: null } },
    merge,
  );
  expect(await namesAt(server, `${networking}/ipaddresses`)).toEqual(['10.5.0.1']);
});

test('the lease of the server is renewed, and goes when it stops', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'own-objects-'));
  onTestFinished(() => {
    rmSync(dataDir, { recursive: true });
  });
  const clock = new FakeClock();
  const server = await EmbeddedApiServer.start({ clock, dataDir });
  const [first] = await itemsAt(server, leases);
  expect(first).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^apiserver-[a-z2-7]{26}$/) as string,
      labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver' },
    },
    spec: { leaseDurationSeconds: 3600 },
  });
  await clock.advance(10 * 60_000);
  const [second] = await itemsAt(server, leases);
  expect(second?.spec['holderIdentity']).toBe(first?.spec['holderIdentity']);
  expect(second?.spec['renewTime']).not.toBe(first?.spec['renewTime']);
  await server.stop();
  expect([...server.store.list('coordination.k8s.io/leases')]).toEqual([]);
});

test('extension servers find whom to trust, also after the ConfigMap was deleted', async () => {
  const server = await started();
  const path = `${configMaps}/extension-apiserver-authentication`;
  await call(server, 'DELETE', path);
  expect((await call(server, 'GET', path)).body).toMatchObject({ data: { 'client-ca-file': server.ca } });
  expect(
    (await call(server, 'GET', `${configMaps}/kube-apiserver-legacy-service-account-token-tracking`)).body,
  ).toMatchObject({ data: { since: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string } });
});
