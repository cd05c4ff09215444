import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiConnection } from '../../src/api/rest/connection.ts';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { configMapResource, namespaceResource, podResource } from '../../src/api/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import { TestEnvironment, type TestEnvironmentOptions } from '../../src/envtest/index.ts';

let dir: string;
const environments: TestEnvironment[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-envtest-'));
});
afterEach(async () => {
  for (const one of environments.splice(0)) await one.stop();
  rmSync(dir, { recursive: true, force: true });
});

function environment(options: TestEnvironmentOptions = {}): TestEnvironment {
  const made = new TestEnvironment({ env: {}, ...options });
  environments.push(made);
  return made;
}

const using = async <T>(
  connection: ApiConnection,
  use: (client: ReturnType<typeof createApiClient>) => Promise<T>,
) => {
  const client = createApiClient(connection, { clock: systemClock });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
};

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: rooms.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: rooms, kind: Room }
  versions:
    - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }
`;

describe('TestEnvironment, embedded', () => {
  test('starts as envtest does: no controllers, pods without service accounts, definitions and namespaces', async () => {
    writeFileSync(join(dir, 'crd.yaml'), crd);
    const env = environment({ crds: [dir], namespaces: ['one', 'default'] });
    const connection = await env.start();
    await using(connection, async (client) => {
      expect(await client.raw('/apis/example.com/v1/rooms', { method: 'GET' })).toMatchObject({ items: [] });
      const pod = {
        metadata: { name: 'p', namespace: 'one' },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      };
      await client.create(podResource, pod);
      await client.delete(namespaceResource, { name: 'one' });
      const gone = await client.get(namespaceResource, { name: 'one' });
      expect(gone).toMatchObject({ status: { phase: 'Terminating' } });
    });
    expect(env.audit.map(({ verb }) => verb)).toContain('create');
    expect(parse(env.kubeconfig)).toMatchObject({
      clusters: [{ cluster: { server: connection.server } }],
      'current-context': 'envtest',
    });
    await expect(env.start()).rejects.toThrow('runs already');
  });

  test('a user may do what is bound to it, and the audit has the name', async () => {
    const env = environment();
    await env.start();
    const jane = await env.addUser({ name: 'jane', groups: ['dev'] });
    await using(jane, async (client) => {
      await expect(client.list(configMapResource, { namespace: 'default' })).rejects.toMatchObject({
        status: 403,
      });
    });
    expect(env.audit.at(-1)).toMatchObject({
      verb: 'list',
      user: { username: 'jane', groups: ['dev', 'system:authenticated'] },
      responseStatus: { code: 403 },
    });
  });

  test('webhooks that name a service are called at the tests’ own server', async () => {
    const configuration = {
      ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' },
      metadata: { name: 'v' },
      webhooks: [
        {
          ...{ name: 'v.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'] },
          clientConfig: { service: { name: 's', namespace: 'default', path: '/validate' } },
          rules: [
            { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
          ],
        },
      ],
    };
    const env = environment({ webhooks: [configuration, { apiVersion: 'v1', kind: 'Service' }] });
    const connection = await env.start();
    const { host, port, certDir, ca } = env.webhookServer;
    const paths: (string | undefined)[] = [];
    const hook = createServer(
      { cert: readFileSync(join(certDir, 'tls.crt')), key: readFileSync(join(certDir, 'tls.key')) },
      (request, response) => {
        paths.push(request.url);
        let text = '';
        request.on('data', (chunk: Buffer) => (text += chunk.toString()));
        request.on('end', () => {
          const { uid } = (JSON.parse(text) as { request: { uid: string } }).request;
          const answer = { uid, allowed: false, status: { message: 'never' } };
          response.setHeader('Content-Type', 'application/json');
          response.end(
            JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }),
          );
        });
      },
    );
    await new Promise<void>((done) => hook.listen(port, host, done));
    expect(ca).toContain('BEGIN CERTIFICATE');
    await using(connection, async (client) => {
      const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'default' } };
      await expect(client.create(configMapResource, map)).rejects.toThrow('never');
    });
    expect(paths.map((path) => path?.split('?')[0])).toEqual(['/validate']);
    hook.closeAllConnections();
    await new Promise((done) => hook.close(done));
  });

  test('what cannot be used ends the start, and nothing keeps running', async () => {
    const env = environment({ crds: ['/none'] });
    await expect(env.start()).rejects.toThrow('crds: /none: ');
    expect(() => env.audit).toThrow('call start() first');
    await expect(env.addUser({ name: 'x' })).rejects.toThrow('call start() first');
  });
});

test('an existing cluster is used by its kubeconfig, and is not stopped', async () => {
  const cluster = environment();
  await cluster.start();
  const kubeconfig = join(dir, 'config');
  writeFileSync(kubeconfig, cluster.kubeconfig);
  const env = environment({
    env: { USE_EXISTING_CLUSTER: 'true', KUBECONFIG: kubeconfig },
    crds: [parse(crd) as object],
  });
  const connection = await env.start();
  await expect(env.addUser({ name: 'x' })).rejects.toThrow('an existing cluster issues no certificates');
  expect(() => env.server).toThrow('does not run in this process');
  await env.stop();
  await using(connection, async (client) => {
    expect(await client.raw('/apis/example.com/v1/rooms', { method: 'GET' })).toMatchObject({ items: [] });
  });
});
