import { afterEach, expect, test } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Node } from '../../src/kube/types.ts';
import { NaiveNodeProvider, NodeController, withNodeEnableLeaseV1 } from '../../src/vkubelet/index.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Clients of one API server: of an administrator, and of a user with its groups. */
async function clientsOf(user: string, groups: readonly string[]): Promise<[HttpApiClient, HttpApiClient]> {
  const server = await EmbeddedApiServer.start();
  closers.push(() => server.stop());
  const clients = [server.admin, server.clientCertificate(user, groups)].map((pair) => {
    const client = createApiClient({ server: server.url, ca: server.ca, ...pair }, { clock: systemClock });
    closers.push(() => client.close());
    return client;
  });
  return clients as [HttpApiClient, HttpApiClient];
}

const wanted: Node = {
  metadata: { name: 'rooms', labels: { type: 'virtual-kubelet', 'kubernetes.io/role': 'agent' } },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

test('a node identity registers its node without the labels that it may not set, and keeps it so', async () => {
  const [admin, own] = await clientsOf('system:node:rooms', ['system:nodes']);
  const controller = new NodeController(new NaiveNodeProvider(), wanted, own, withNodeEnableLeaseV1(own));
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  await controller.waitPosted(AbortSignal.timeout(10_000));
  stop.abort();
  await running;
  const { metadata, status } = await admin.get<Node>(nodeResource, { name: 'rooms' });
  expect(metadata?.labels).toEqual({ type: 'virtual-kubelet' });
  expect(status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'True' });
});

test('a registration that the API server refuses ends the controller and says what is missing', async () => {
  const [, stranger] = await clientsOf('stranger', []);
  const controller = new NodeController(new NaiveNodeProvider(), wanted, stranger);
  await expect(controller.run(AbortSignal.timeout(20_000))).rejects.toThrow(
    /^the API server refuses to register node rooms: .*cannot get resource "nodes".*; its identity needs create, get and patch on nodes/,
  );
  expect(controller.err).toMatchObject({ code: 'permission_denied' });
});
