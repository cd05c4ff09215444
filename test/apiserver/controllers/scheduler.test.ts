import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { call, pod, podsPath } from '../support.ts';

let server: EmbeddedApiServer | undefined;
afterEach(() => server?.stop());

async function start(): Promise<EmbeddedApiServer> {
  server = await EmbeddedApiServer.start();
  return server;
}

const read = async <T>(at: EmbeddedApiServer, path: string): Promise<T> =>
  (await call(at, 'GET', path)).body as T;
const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };

async function addNode(at: EmbeddedApiServer, name: string): Promise<Node> {
  await call(at, 'POST', '/api/v1/nodes', { metadata: { name } });
  await call(at, 'PATCH', `/api/v1/nodes/${name}/status`, ready, 'application/merge-patch+json');
  return read(at, `/api/v1/nodes/${name}`);
}

test('a pod that fits on no node says why, until there is one', async () => {
  const at = await start();
  await call(at, 'POST', podsPath, pod('p'));
  const waiting = await read<Pod>(at, `${podsPath}/p`);
  expect(waiting.status?.conditions).toEqual([
    {
      type: 'PodScheduled',
      observedGeneration: 1,
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: expect.any(String) as string,
      reason: 'Unschedulable',
      message: 'no nodes available to schedule pods',
    },
  ]);
  expect(waiting.spec?.nodeName).toBeUndefined();
  await addNode(at, 'n');
  const bound = await read<Pod>(at, `${podsPath}/p`);
  expect(bound.spec?.nodeName).toBe('n');
  expect(bound.status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
    'PodScheduled=True',
  ]);
});

test('the taint of a new node goes once it is ready, unless a node controller does that', async () => {
  const at = await start();
  expect((await addNode(at, 'one')).spec?.taints).toBeUndefined();
  const end = at.declareController({ group: '', resource: 'nodes' });
  expect((await addNode(at, 'two')).spec?.taints?.map(({ key }) => key)).toEqual([
    'node.kubernetes.io/not-ready',
  ]);
  end();
});
