import { expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { call } from '../support.ts';

const service = '/api/v1/namespaces/default/services/kubernetes';
const endpoints = '/api/v1/namespaces/default/endpoints/kubernetes';
const slice = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes';

test('the service of the server has endpoints at the advertised address', async () => {
  const server = await EmbeddedApiServer.start({ advertiseAddress: '192.0.2.2' });
  try {
    const { port } = server;
    expect((await call(server, 'GET', endpoints)).body).toMatchObject({
      metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
      subsets: [{ addresses: [{ ip: '192.0.2.2' }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
    });
    expect((await call(server, 'GET', slice)).body).toMatchObject({
      metadata: { labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.2'], conditions: { ready: true } }],
      ports: [{ name: 'https', protocol: 'TCP', port }],
    });
  } finally {
    await server.stop();
  }
});

test('within 10 seconds what was deleted or changed is as it was', async () => {
  const clock = new FakeClock();
  const server = await EmbeddedApiServer.start({ clock, advertiseAddress: '192.0.2.2' });
  try {
    await call(server, 'DELETE', service);
    await call(server, 'DELETE', slice);
    await call(server, 'PATCH', endpoints, { subsets: null }, 'application/merge-patch+json');
    await clock.advance(9999);
    expect((await call(server, 'GET', service)).status).toBe(404);
    await clock.advance(1);
    const answers = await Promise.all([service, endpoints, slice].map((path) => call(server, 'GET', path)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers[0]?.body).toMatchObject({ spec: { ports: [{ targetPort: server.port }] } });
    expect(answers[1]?.body).toMatchObject({ subsets: [{ addresses: [{ ip: '192.0.2.2' }] }] });
  } finally {
    await server.stop();
  }
});

test.each([{ advertiseAddress: '127.0.0.1' }, {}])('%j: the service has no endpoints', async (options) => {
  const server = await EmbeddedApiServer.start(options);
  try {
    const answers = await Promise.all([service, endpoints, slice].map((path) => call(server, 'GET', path)));
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 404]);
  } finally {
    await server.stop();
  }
});
