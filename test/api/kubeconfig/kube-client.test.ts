import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { connectionFromKubeconfig } from '../../../src/api/kubeconfig/kube-client.ts';
import { podResource } from '../../../src/api/resources.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { KubeStub } from '../../support/kube-stub.ts';

let dir: string;
let stub: KubeStub;
let path: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  stub = new KubeStub();
  const server = await stub.listen();
  path = join(dir, 'config');
  await writeFile(join(dir, 'token'), 'from-file');
  await writeFile(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'fixed',
      clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': 'Y2E=' } }],
      users: [
        { name: 'fixed', user: { token: 'from-config' } },
        {
          name: 'plugin',
          user: {
            exec: {
              apiVersion: 'client.authentication.k8s.io/v1',
              command: 'printf',
              args: [
                '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}',
              ],
              interactiveMode: 'Never',
            },
          },
        },
      ],
      contexts: [
        { name: 'fixed', context: { cluster: 'c', user: 'fixed', namespace: 'team' } },
        { name: 'plugin', context: { cluster: 'c', user: 'plugin' } },
        { name: 'nowhere', context: { cluster: 'gone', user: 'fixed' } },
      ],
    }),
  );
});
afterAll(async () => {
  await stub.close();
  await rm(dir, { recursive: true });
});

test.for([
  ['fixed', 'Bearer from-config'],
  ['plugin', 'Bearer from-plugin'],
] as const)('context %s authenticates as %s', async ([context, authorization]) => {
  const connection = await connectionFromKubeconfig(systemClock, path, context);
  const client = createApiClient(connection, { clock: systemClock });
  await client.list(podResource);
  await client.close();
  expect(stub.requests.at(-1)?.headers.authorization).toBe(authorization);
});

test('the current context is taken where none is named, with its namespace and authority', async () => {
  const connection = await connectionFromKubeconfig(systemClock, path);
  expect([connection.namespace, String(connection.ca)]).toEqual(['team', 'ca']);
});

test('what is missing is named', async () => {
  await expect(connectionFromKubeconfig(systemClock, path, 'other')).rejects.toThrow(
    /has no context other; it has fixed, plugin, nowhere/,
  );
  await expect(connectionFromKubeconfig(systemClock, path, 'nowhere')).rejects.toThrow(/names no cluster/);
  await expect(connectionFromKubeconfig(systemClock, join(dir, 'none'))).rejects.toThrow(/kubeconfig .*none/);
});

test('an error in invalid YAML does not quote the file', async () => {
  const broken = join(dir, 'broken');
  await writeFile(broken, 'users:\n  - name: x\n    user:\n      token: very-secret\n  - - : {\n');
  const failure = await connectionFromKubeconfig(systemClock, broken).catch((reason: unknown) => reason);
  expect(failure).toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining(`kubeconfig ${broken}: `) as string,
  });
  expect(inspect(failure)).not.toContain('very-secret');
});

test('of several files the first that says something counts, and one that is not there does not', async () => {
  const file = async (name: string, content: object): Promise<string> => {
    const whole = { apiVersion: 'v1', kind: 'Config', ...content };
    await writeFile(join(dir, name), JSON.stringify(whole));
    return join(dir, name);
  };
  const cluster = (server: string): object => ({ name: 'c', cluster: { server } });
  const first = await file('first', {
    clusters: [cluster('https://first')],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  });
  const second = await file('second', {
    'current-context': 'x',
    clusters: [cluster('https://second')],
    users: [{ name: 'u', user: { token: 'from-second' } }],
    contexts: [{ name: 'y', context: { cluster: 'none', user: 'u' } }],
  });
  const together = [join(dir, 'missing'), first, second].join(':');
  const connection = await connectionFromKubeconfig(systemClock, together);
  expect(connection.server).toBe('https://first');
  expect(await connection.credentials?.current()).toMatchObject({
    headers: { authorization: 'Bearer from-second' },
  });
  await expect(connectionFromKubeconfig(systemClock, together, 'y')).rejects.toThrow('names no cluster');
  await expect(
    connectionFromKubeconfig(systemClock, `${join(dir, 'no')}:${join(dir, 'none')}`),
  ).rejects.toThrow('no such file or directory');
});
