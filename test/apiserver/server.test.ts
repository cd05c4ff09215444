import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call, pod, podsPath } from './support.ts';

const open: EmbeddedApiServer[] = [];
const dirs: string[] = [];
const start = async (
  options: Parameters<typeof EmbeddedApiServer.start>[0] = {},
): Promise<EmbeddedApiServer> => {
  const server = await EmbeddedApiServer.start(options);
  open.push(server);
  return server;
};
const tempDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'podtender-apiserver-'));
  dirs.push(dir);
  return dir;
};

afterEach(async () => {
  for (const server of open.splice(0)) await server.stop();
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

test('a pod without a node is bound to the node that is ready', async () => {
  const server = await start();
  await call(server, 'POST', podsPath, pod('early'));
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  await call(server, 'POST', '/api/v1/nodes', { metadata: { name: 'n1' }, status: ready });
  await call(server, 'POST', podsPath, pod('late'));
  await server.store.settled();
  for (const name of ['early', 'late'])
    expect((await call(server, 'GET', `${podsPath}/${name}`)).body).toMatchObject({
      spec: { nodeName: 'n1' },
    });
});

test('a deleted namespace is emptied and goes', async () => {
  const server = await start();
  await call(server, 'POST', '/api/v1/namespaces', { metadata: { name: 'x' } });
  await call(server, 'POST', '/api/v1/namespaces/x/configmaps', { metadata: { name: 'm' } });
  expect((await call(server, 'DELETE', '/api/v1/namespaces/x')).body).toMatchObject({
    status: { phase: 'Terminating' },
  });
  for (let i = 0; i < 20 && server.store.get('namespaces', 'x'); i++)
    await new Promise((resolve) => setImmediate(resolve));
  expect((await call(server, 'GET', '/api/v1/namespaces/x')).status).toBe(404);
  expect([...server.store.list('configmaps', 'x/')]).toEqual([]);
});

test('objects, versions and the authority outlive a restart', async () => {
  const dataDir = tempDir();
  // a scheduler would write that no node is there
  const first = await start({ dataDir, minimalScheduler: false });
  const made = await call(first, 'POST', podsPath, pod('kept'));
  const { ca } = first;
  await first.stop();
  open.length = 0;
  const second = await start({ dataDir, minimalScheduler: false });
  expect(second.ca).toBe(ca);
  const found = await call(second, 'GET', `${podsPath}/kept`);
  expect(found.body.metadata.resourceVersion).toBe(made.body.metadata.resourceVersion);
  const next = await call(second, 'POST', podsPath, pod('next'));
  expect(Number(next.body.metadata.resourceVersion)).toBeGreaterThan(
    Number(made.body.metadata.resourceVersion),
  );
});

test('a second process cannot use the data directory, and a file in its place is reported', async () => {
  const dataDir = tempDir();
  await start({ dataDir });
  await expect(start({ dataDir })).rejects.toThrow(/in use by another process/);
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  await expect(start({ dataDir: file })).rejects.toThrow(/cannot be used/);
});

test('no acknowledged write is lost when the process is killed', { timeout: 30_000 }, async () => {
  const dataDir = tempDir();
  const source = `
    const { EmbeddedApiServer } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/apiserver/index.ts'))});
    const { call } = await import(${JSON.stringify(join(import.meta.dirname, 'support.ts'))});
    const server = await EmbeddedApiServer.start({ dataDir: ${JSON.stringify(dataDir)} });
    const work = async (worker) => {
      for (let i = 0; ; i++) {
        const name = 'm-' + worker + '-' + i;
        const { status } = await call(server, 'POST', '/api/v1/namespaces/default/configmaps', { metadata: { name } });
        if (status === 201) process.stdout.write(name + '\\n');
      }
    };
    await Promise.all([0, 1, 2, 3].map(work));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = '';
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      told += chunk.toString();
      if (told.split('\n').length > 100) child.kill('SIGKILL');
    });
    child.on('close', () => {
      resolve();
    });
  });
  const server = await start({ dataDir });
  const names = told.split('\n').slice(0, -1);
  expect(names.length).toBeGreaterThan(90);
  expect(names.filter((name) => !server.store.get('configmaps', `default/${name}`))).toEqual([]);
});

test('a stale version is refused and an equal patch writes nothing', async () => {
  const server = await start();
  const made = await call(server, 'POST', podsPath, pod('p'));
  const labels = { metadata: { labels: { a: 'b' } } };
  const merge = 'application/merge-patch+json';
  const changed = await call(server, 'PATCH', `${podsPath}/p`, labels, merge);
  const again = await call(server, 'PATCH', `${podsPath}/p`, labels, merge);
  expect(again.body.metadata.resourceVersion).toBe(changed.body.metadata.resourceVersion);
  expect((await call(server, 'PUT', `${podsPath}/p`, made.body)).status).toBe(409);
});

test('the kubeconfig names the server and carries its credentials', async () => {
  const server = await start();
  expect(server.kubeconfig()).toContain(`server: ${server.url}`);
  expect(server.kubeconfig()).toContain('client-key-data:');
});
