import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { call } from '../support.ts';

let server: EmbeddedApiServer;
const clock = new FakeClock(Date.UTC(2026, 10, 7, 8, 9, 10));
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ clock });
  clock.set(Date.UTC(2026, 10, 7, 10, 10, 15));
});
afterAll(() => server.stop());

const get = (path: string, accept = ''): ReturnType<typeof call> =>
  call(server, 'GET', path, undefined, undefined, { Accept: accept });

test('/statusz is a text with start, uptime, versions and other pages', async () => {
  const answer = await get('/statusz');
  expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
  const lines = answer.text.split('\n');
  expect(lines[1]).toBe('apiserver statusz');
  expect(lines.slice(4, -1)).toEqual([
    'Started: Sat Nov  7 08:09:10 UTC 2026',
    'Up: 2 hr 01 min 05 sec',
    `Go version: node${process.versions.node}`,
    'Binary version: 1.36.2',
    'Emulation version: 1.36',
    'Paths: /flagz /healthz /livez /metrics /readyz /statusz /version',
  ]);
});

test('clients that name the kind get an object, of a deprecated version with a warning', async () => {
  const beta = await get('/statusz', 'text/html, application/json;v=v1beta1;g=config.k8s.io;as=Statusz');
  expect(beta.headers['content-type']).toBe('application/json;g=config.k8s.io;v=v1beta1;as=Statusz');
  expect(beta.body).toMatchObject({
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'apiserver' },
    startTime: '2026-11-07T08:09:10Z',
    uptimeSeconds: 7265,
  });
  const alpha = await get('/flagz', 'application/json;v=v1alpha1;g=config.k8s.io;as=Flagz');
  expect(alpha.headers.warning).toBe(
    '299 - "This version of the flagz endpoint is deprecated. Please use a newer version."',
  );
  expect(alpha.body).toMatchObject({ flags: { 'authorization-mode': '[Node,RBAC]' } });
});

test('/flagz has the settings in the order of their names', async () => {
  const names = (await get('/flagz')).text
    .split('\n')
    .slice(3, -1)
    .map((line) => line.split(':', 1)[0]);
  expect(names).toContain('service-cluster-ip-range');
  expect(names).toEqual([...names].sort());
});

test.each(['application/json', 'text/html', 'application/json;v=v1;g=config.k8s.io;as=Statusz'])(
  'Accept: %s cannot be satisfied',
  async (accept) => {
    const answer = await get('/statusz', accept);
    expect(answer.status).toBe(406);
    expect(answer.body).toMatchObject({
      message: 'only the following media types are accepted: application/json, application/yaml, text/plain',
      reason: 'NotAcceptable',
    });
  },
);

test('the root lists groups, versions, checks and pages, and each of them answers', async () => {
  const { paths } = (await get('/')).body as unknown as { readonly paths: readonly string[] };
  expect(paths).toContain('/apis/rbac.authorization.k8s.io/v1');
  expect(paths).toContain('/readyz/shutdown');
  expect(paths).toEqual([...paths].sort());
  for (const path of paths) expect((await get(path, '*/*')).status, path).toBe(200);
});

test('a check that does not exist cannot be excluded', async () => {
  const text = (await get('/readyz?verbose&exclude=etcd&exclude=nope')).text;
  const lines = text.split('\n');
  expect(lines.slice(0, 3)).toEqual(['[+]ping ok', '[+]log ok', '[+]etcd excluded: ok']);
  expect(lines.slice(-4, -1)).toEqual([
    '[+]shutdown ok',
    'warn: some health checks cannot be excluded: no matches for "nope"',
    'readyz check passed',
  ]);
});
