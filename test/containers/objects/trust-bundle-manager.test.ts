import { afterAll, beforeAll, expect, test } from 'vitest';
import { TrustBundles } from '../../../src/containers/objects/trust-bundle-manager.ts';
import { type ApiClient, ApiError } from '../../../src/api/client.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { Authority } from '../../../src/pki/certificates.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { systemRandom } from '../../../src/base/random.ts';

const resource = {
  group: 'certificates.k8s.io',
  version: 'v1beta1',
  resource: 'clustertrustbundles',
  kind: 'ClusterTrustBundle',
  namespaced: false,
};
const anchor = (): string => Authority.create('ca', Date.now()).cert;

let server: EmbeddedApiServer;
let admin: HttpApiClient;
let node: HttpApiClient;
let bundles: TrustBundles;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ clusterTrustBundles: true });
  const connect = (user: { cert: string; key: string }): HttpApiClient =>
    createApiClient({ server: server.url, ca: server.ca, ...user }, { clock: systemClock, qps: 0 });
  admin = connect(server.admin);
  node = connect(server.clientCertificate('system:node:a', ['system:nodes']));
  bundles = new TrustBundles({ client: node, clock: systemClock, random: systemRandom });
});
afterAll(async () => {
  bundles.stop();
  await Promise.all([node.close(), admin.close()]);
  await server.stop();
});

test('a node sees the bundles of its cluster, and each change of them', async () => {
  const [first, second] = [anchor(), anchor()];
  await expect(bundles.get({ name: 'b' })).rejects.toThrow('"b" not found');
  const made = await admin.create(resource, {
    apiVersion: 'certificates.k8s.io/v1beta1',
    kind: 'ClusterTrustBundle',
    metadata: { name: 'b' },
    spec: { trustBundle: first },
  });
  await expect.poll(() => bundles.get({ name: 'b', optional: true })).toBe(first);
  await admin.update(resource, { ...made, spec: { trustBundle: second } });
  await expect.poll(() => bundles.get({ name: 'b' })).toBe(second);
});

/** A server whose answers to lists are these, in turn. */
const answering = (...answers: readonly (number | undefined)[]): ApiClient => {
  const left = [...answers];
  return {
    list: () => {
      const status = left.shift();
      return Promise.reject(status === undefined ? new Error('broken pipe') : new ApiError(status, {}));
    },
  } as unknown as ApiClient;
};

test('a cluster that has none is not asked again', async () => {
  const none = new TrustBundles({
    client: answering(404, 403, 404),
    clock: new FakeClock(),
    random: systemRandom,
  });
  for (let i = 0; i < 2; i++)
    await expect(none.get({ name: 'b' })).rejects.toThrow(
      'ClusterTrustBundle projection is not supported in static kubelet mode',
    );
});

test('whether it has some is found out once it answers', async () => {
  const later = new TrustBundles({
    client: answering(undefined, 404, 404, 404),
    clock: new FakeClock(),
    random: systemRandom,
  });
  await expect(later.get({ name: 'b' })).rejects.toThrow(
    'failed to ensure informer manager for ClusterTrustBundles: broken pipe',
  );
  await expect(later.get({ name: 'b' })).rejects.toThrow('not supported');
});

test('whoever asks first waits 10 s for the first list', async () => {
  const clock = new FakeClock();
  let asked = 0;
  const client = {
    list: () => (asked++ === 0 ? Promise.resolve({ items: [] }) : new Promise(() => undefined)),
    watch: () => new Promise(() => undefined),
  } as unknown as ApiClient;
  const slow = new TrustBundles({ client, clock, random: systemRandom });
  const waiting = expect(slow.get({ name: 'b' })).rejects.toThrow(
    'ClusterTrustBundle informer has not yet synced',
  );
  await clock.advance(10_000);
  await waiting;
  slow.stop();
});
