import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call } from './support.ts';

const base = '/apis/rbac.authorization.k8s.io/v1';
const merge = 'application/merge-patch+json';
const dataDir = mkdtempSync(join(tmpdir(), 'seed-'));
afterAll(() => {
  rmSync(dataDir, { recursive: true });
});

async function withServer(work: (server: EmbeddedApiServer) => Promise<void>): Promise<void> {
  const server = await EmbeddedApiServer.start({ dataDir });
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

test('a start completes the bootstrap roles and bindings, and keeps what was added', async () => {
  const extra = { verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] };
  const mine = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'me' };
  await withServer(async (server) => {
    const patched = [
      await call(server, 'PATCH', `${base}/clusterroles/system:kube-dns`, { rules: [extra] }, merge),
      await call(
        server,
        'PATCH',
        `${base}/clusterrolebindings/system:discovery`,
        { subjects: [mine] },
        merge,
      ),
      await call(
        server,
        'PATCH',
        `${base}/clusterrolebindings/system:monitoring`,
        {
          subjects: null,
          metadata: { annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } },
        },
        merge,
      ),
    ];
    expect(patched.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
  await withServer(async (server) => {
    const get = async (path: string): Promise<unknown> => (await call(server, 'GET', `${base}/${path}`)).body;
    expect(await get('clusterroles/system:kube-dns')).toMatchObject({
      rules: [extra, { verbs: ['list', 'watch'], apiGroups: [''], resources: ['endpoints', 'services'] }],
    });
    expect(await get('clusterrolebindings/system:discovery')).toMatchObject({
      subjects: [mine, { kind: 'Group', name: 'system:authenticated' }],
    });
    expect(await get('clusterrolebindings/system:monitoring')).not.toHaveProperty('subjects');
  });
});
