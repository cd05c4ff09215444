import { afterEach, expect, test } from 'vitest';
import { ActingControllers } from '../../../src/apiserver/request/acting-controllers.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { builtIn } from '../../../src/apimachinery/kinds.ts';
import { call, pod, podsPath } from '../support.ts';

let server: EmbeddedApiServer | undefined;
afterEach(() => server?.stop());

const path = '/apis/apps/v1/namespaces/default/deployments';
const deployment = (name: string): object => ({
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
  },
});
const warning =
  '299 - "no controller for kind Deployment runs with this API server: the object is stored, but nothing acts on it"';

test('the creator of a workload that no controller acts on is warned, once and at creation alone', async () => {
  server = await EmbeddedApiServer.start();
  const made = await call(server, 'POST', path, deployment('a'));
  expect([made.status, made.headers.warning]).toEqual([201, warning]);
  const changed = await call(
    server,
    'PATCH',
    `${path}/a`,
    { metadata: { labels: { b: 'c' } } },
    'application/merge-patch+json',
  );
  expect([changed.status, changed.headers.warning]).toEqual([200, undefined]);
  const applied = await call(
    server,
    'PATCH',
    `${path}/b?fieldManager=m`,
    { apiVersion: 'apps/v1', kind: 'Deployment', ...deployment('b') },
    'application/apply-patch+yaml',
  );
  expect([applied.status, applied.headers.warning]).toEqual([201, warning]);
  expect((await call(server, 'POST', podsPath, pod('p'))).headers.warning).toBeUndefined();
});

test('with controllers beside the server there is no warning', async () => {
  server = await EmbeddedApiServer.start({ externalControllers: true });
  expect((await call(server, 'POST', path, deployment('a'))).headers.warning).toBeUndefined();
});

test('a controller that runs says so, and that it has stopped', () => {
  const acting = new ActingControllers();
  const jobs = builtIn('jobs', 'batch');
  expect(acting.warningFor(jobs, {})).toContain('no controller for kind Job runs');
  const stopped = acting.declare({ group: 'batch', resource: 'jobs' });
  expect(acting.warningFor(jobs, {})).toBeUndefined();
  expect(acting.warningFor(builtIn('cronjobs', 'batch'), {})).toContain('CronJob');
  stopped();
  expect(acting.warningFor(jobs, {})).toContain('Job');
});

test('without a proxy the creator of a Service with an address of its own is warned', async () => {
  const at = (server = await EmbeddedApiServer.start({ serviceProxy: false }));
  const create = async (name: string, spec: object): Promise<unknown> => {
    const body = { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } };
    return (await call(at, 'POST', '/api/v1/namespaces/default/services', body)).headers.warning;
  };
  expect(await create('web', {})).toMatch(/^299 - "no proxy for Services runs on this node: the cluster IP/);
  expect(await create('members', { clusterIP: 'None' })).toBeUndefined();
  expect(await create('out', { type: 'ExternalName', externalName: 'example.com' })).toBeUndefined();
});

test('a node controller that runs says so', () => {
  const acting = new ActingControllers({ externalControllers: true });
  const nodes = builtIn('nodes');
  expect(acting.actsOn(nodes)).toBe(false);
  acting.declare(nodes);
  expect(acting.actsOn(nodes)).toBe(true);
});
