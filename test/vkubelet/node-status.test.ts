import { expect, test } from 'vitest';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { ResourceClient } from '../../src/api/resource-client.ts';
import { leaseResource, nodeResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Lease, Node } from '../../src/kube/types.ts';
import { patchNodeStatus, updateNodeLease } from '../../src/vkubelet/index.ts';

interface Clients {
  readonly nodes: ResourceClient<Node>;
  readonly leases: ResourceClient<Lease>;
}

async function withServer(work: (clients: Clients) => Promise<void>): Promise<void> {
  const server = await EmbeddedApiServer.start();
  const client = createApiClient(
    { server: server.url, ca: server.ca, ...server.admin },
    { clock: systemClock },
  );
  try {
    const leases = new ResourceClient<Lease>(client, leaseResource, 'kube-node-lease');
    await work({ nodes: new ResourceClient<Node>(client, nodeResource), leases });
  } finally {
    await client.close();
    await server.stop();
  }
}

test('patchNodeStatus writes what differs and leaves the rest', async () => {
  await withServer(async ({ nodes }) => {
    const made = await nodes.create({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'virtual' },
      status: { capacity: { cpu: '4', memory: '1Gi' }, conditions: [{ type: 'Ready', status: 'False' }] },
    });
    const next: Node = {
      ...made,
      status: { ...made.status, conditions: [{ type: 'Ready', status: 'True' }] },
    };
    const [node, patch] = await patchNodeStatus(nodes, 'virtual', made, next);
    expect(JSON.stringify(patch)).not.toContain('capacity');
    expect(node.status?.conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);
    expect((await nodes.get('virtual')).status?.capacity).toEqual({ cpu: '4', memory: '1Gi' });
  });
});

test('patchNodeStatus writes nothing when nothing differs', async () => {
  await withServer(async ({ nodes }) => {
    const made = await nodes.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'virtual' } });
    expect(await patchNodeStatus(nodes, 'virtual', made, structuredClone(made))).toEqual([made, undefined]);
    expect((await nodes.get('virtual')).metadata?.resourceVersion).toBe(made.metadata?.resourceVersion);
  });
});

test('updateNodeLease creates the lease, then renews it', async () => {
  await withServer(async ({ leases }) => {
    const base: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'virtual', namespace: 'kube-node-lease' },
      spec: { holderIdentity: 'virtual', leaseDurationSeconds: 40 },
    };
    const first = await updateNodeLease(leases, base, Date.parse('2026-03-04T05:06:07Z'));
    expect(first.spec).toMatchObject({
      holderIdentity: 'virtual',
      leaseDurationSeconds: 40,
      renewTime: '2026-03-04T05:06:07.000000Z',
    });
    const second = await updateNodeLease(leases, first, Date.parse('2026-03-04T05:06:17Z'));
    expect(second.metadata?.uid).toBe(first.metadata?.uid);
    expect(second.spec?.renewTime).toBe('2026-03-04T05:06:17.000000Z');
    // of two writers the one that has seen an older version is refused
    await expect(updateNodeLease(leases, first, Date.now())).rejects.toThrow('has been modified');
  });
});

test('updateNodeLease names what a lease without a name lacks', async () => {
  await withServer(async ({ leases }) => {
    await expect(updateNodeLease(leases, {}, 0)).rejects.toThrow('the lease has no name: set metadata.name');
  });
});
