import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { plainConnection } from '../../src/api/kubeconfig/plain-kubeconfig.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { namespaceResource } from '../../src/api/resources.ts';
import { type ApiServerOptions, startApiServerCommand } from '../../src/app/apiserver.ts';
import { ownNames } from '../../src/app/own-addresses.ts';
import { systemClock } from '../../src/base/clock.ts';

let dir: string;
let written: string;
const context = { write: (text: string) => (written += text) };
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-apiserver-test-'));
  written = '';
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

async function clientOf(kubeconfig: string): Promise<HttpApiClient> {
  const connection = await plainConnection(systemClock, kubeconfig, undefined);
  if (!connection) throw new Error(`${kubeconfig} is no kubeconfig`);
  return createApiClient(connection, { clock: systemClock });
}

const options = (more: Partial<ApiServerOptions> = {}): ApiServerOptions => ({
  ...{ port: 0, host: '127.0.0.1', crds: [], controllers: ['*'], disableAdmissionPlugins: [], tlsSans: [] },
  authorization: {},
  ...{ logLevel: 'silent', logFormat: 'text' },
  ...more,
});

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

test('the kubeconfig reaches the server, and definitions are served from the start', async () => {
  writeFileSync(join(dir, 'crd.yaml'), crd);
  const kubeconfig = join(dir, 'sub', 'kubeconfig');
  const running = await startApiServerCommand(options({ kubeconfig, crds: [dir], audit: '-' }), context);
  const client = await clientOf(kubeconfig);
  try {
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
    expect((await client.list(namespaceResource)).items.length).toBe(4);
    expect(await client.raw('/apis/example.com/v1/rooms', { method: 'GET' })).toMatchObject({
      kind: 'RoomList',
    });
  } finally {
    await client.close();
    await running.stop();
  }
  const events = written
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { verb: string; objectRef?: { resource: string } });
  expect(events).toContainEqual(
    expect.objectContaining({
      verb: 'list',
      objectRef: expect.objectContaining({ resource: 'rooms' }) as unknown,
    }),
  );
});

test('a temporary kubeconfig goes with the server; one in the data directory stays, and so do the objects', async () => {
  const inMemory = await startApiServerCommand(options(), context);
  expect(existsSync(inMemory.kubeconfig)).toBe(true);
  await inMemory.stop();
  expect(existsSync(dirname(inMemory.kubeconfig))).toBe(false);

  const dataDir = join(dir, 'data');
  const audit = join(dir, 'audit.log');
  for (const crds of [[], [dir]]) {
    if (crds.length > 0) writeFileSync(join(dir, 'crd.json'), '');
    const running = await startApiServerCommand(options({ dataDir, audit, crds }), context);
    const client = await clientOf(running.kubeconfig);
    if (crds.length === 0)
      await client.create(namespaceResource, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'mine' },
      });
    else expect((await client.get(namespaceResource, { name: 'mine' })).metadata?.name).toBe('mine');
    await client.close();
    await running.stop();
    expect(running.kubeconfig).toBe(join(dataDir, 'kubeconfig'));
  }
  expect(readFileSync(audit, 'utf8').trim().split('\n').length).toBeGreaterThanOrEqual(2);
});

test.each([
  [{ crds: ['/none/x.yaml'] }, /crds: \/none\/x\.yaml: .*no such file/],
  [{ controllers: ['nope'] }, /"nope": no such controller/],
  [{ disableAdmissionPlugins: ['Nope'] }, /no such plug-in/],
  [{ auditPolicyFile: '/none' }, /--audit-policy-file says what --audit FILE holds/],
  [{ audit: '-', auditPolicyFile: '/none' }, /--audit-policy-file \/none: open \/none: no such file/],
  [{ audit: '/dev/null/x' }, /--audit \/dev\/null\/x: /],
] as const)('%j is rejected', async (more, text) => {
  await expect(startApiServerCommand(options(more), context)).rejects.toThrow(text);
});

test('a kubeconfig of someone else is not overwritten, and a used port is named', async () => {
  const kubeconfig = join(dir, 'config');
  writeFileSync(kubeconfig, 'current-context: prod\n');
  await expect(startApiServerCommand(options({ kubeconfig }), context)).rejects.toThrow(
    'would be overwritten',
  );
  expect(readFileSync(kubeconfig, 'utf8')).toBe('current-context: prod\n');
  const first = await startApiServerCommand(options(), context);
  const port = Number(new URL(first.url).port);
  await expect(startApiServerCommand(options({ port }), context)).rejects.toThrow(
    `port ${port} is in use; choose another with --port`,
  );
  await first.stop();
});

test('a server on all addresses has a certificate for this machine’s names', () => {
  expect(ownNames('127.0.0.1')).toEqual([]);
  expect(ownNames('0.0.0.0')).toContain('127.0.0.1');
});
