import { expect, test } from 'vitest';
import { seconds } from '../../../src/apimachinery/times.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import { NodeMonitor } from '../../../src/controllermanager/nodes/node-monitor.ts';
import type { Node } from '../../../src/controllermanager/workload/types.ts';
import { beat, node, nodeWorld, pod, signal, startMs } from './support.ts';

const taintsOf = ({ spec }: Node): string[] =>
  (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
const unreachable = 'node.kubernetes.io/unreachable:NoExecute';
const notReady = 'node.kubernetes.io/not-ready:NoExecute';

/** Runs passes 5 s apart, each after heartbeats of the nodes in `alive`. */
async function passes(
  world: ReturnType<typeof nodeWorld>,
  monitor: NodeMonitor,
  { ms, alive }: { readonly ms: number; readonly alive: readonly string[] },
): Promise<void> {
  for (let left = ms; left > 0; left -= 5000) {
    await world.clock.advance(5000);
    for (const name of alive) await beat(world.client, name, world.clock.now());
    await monitor.pass(signal);
  }
}

test('a silent node becomes Unknown after 50 s, its pods are not ready, and it is tainted', async () => {
  const world = nodeWorld([node('n1'), node('n2'), pod('web', 'n1'), pod('other', 'n2')]);
  const monitor = new NodeMonitor(world.deps);
  await monitor.pass(signal);
  expect(world.reports).toEqual([
    'Node n1: RegisteredNode: Node n1 event: Registered Node n1 in Controller',
    'Node n2: RegisteredNode: Node n2 event: Registered Node n2 in Controller',
  ]);
  world.reports.length = 0;
  await passes(world, monitor, { ms: 50_000, alive: ['n2'] });
  expect((await world.readNode('n1')).status?.conditions).toHaveLength(1);
  await passes(world, monitor, { ms: 5000, alive: ['n2'] });
  const silent = await world.readNode('n1');
  const time = seconds(startMs + 55_000);
  expect(silent.status?.conditions?.[0]).toEqual({
    type: 'Ready',
    status: 'Unknown',
    lastHeartbeatTime: seconds(startMs),
    lastTransitionTime: time,
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
  });
  expect(silent.status?.conditions?.slice(1).map(({ type, reason }) => `${type} ${reason ?? ''}`)).toEqual([
    'MemoryPressure NodeStatusNeverUpdated',
    'DiskPressure NodeStatusNeverUpdated',
    'PIDPressure NodeStatusNeverUpdated',
  ]);
  expect(taintsOf(silent)).toEqual([unreachable]);
  expect(taintsOf(await world.readNode('n2'))).toEqual([]);
  const web = await world.client.get(kinds.Pod, { namespace: 'default', name: 'web' });
  expect(web.status?.conditions).toEqual([{ type: 'Ready', status: 'False', lastTransitionTime: time }]);
  const other = await world.client.get(kinds.Pod, { namespace: 'default', name: 'other' });
  expect(other.status?.conditions?.[0]?.status).toBe('True');
  expect(world.reports).toEqual([
    'Node n1: NodeNotReady: Node n1 status is now: NodeNotReady',
    'Pod web: NodeNotReady: Node is not ready',
  ]);
  // it comes back, not ready at first: the taints are exchanged at once
  await beat(world.client, 'n1', world.clock.now(), 'False');
  await monitor.pass(signal);
  expect(taintsOf(await world.readNode('n1'))).toEqual([notReady]);
  await passes(world, monitor, { ms: 5000, alive: ['n1', 'n2'] });
  expect(taintsOf(await world.readNode('n1'))).toEqual([]);
});

test('a renewed lease shows that a node lives; one without a condition has 60 s', async () => {
  const world = nodeWorld([node('leased'), node('mute', { ready: '' }), node('n3')]);
  const lease = { metadata: { namespace: 'kube-node-lease', name: 'leased' } };
  await world.client.create(kinds.Lease, { ...lease, spec: { renewTime: seconds(startMs) } });
  const monitor = new NodeMonitor(world.deps);
  await monitor.pass(signal);
  for (let at = 5000; at <= 60_000; at += 5000) {
    const body = { spec: { renewTime: seconds(startMs + at) } };
    await world.client.patch(kinds.Lease, lease, { type: 'merge', data: () => body });
    await passes(world, monitor, { ms: 5000, alive: ['n3'] });
  }
  expect((await world.readNode('leased')).status?.conditions?.[0]?.status).toBe('True');
  expect((await world.readNode('mute')).status?.conditions).toEqual([]);
  await passes(world, monitor, { ms: 5000, alive: ['n3'] });
  expect((await world.readNode('mute')).status?.conditions?.[0]).toMatchObject({
    type: 'Ready',
    reason: 'NodeStatusNeverUpdated',
    lastHeartbeatTime: seconds(startMs),
  });
});

test('nodes of a zone are tainted one in ten seconds', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const world = nodeWorld(names.map((name) => node(name)));
  const monitor = new NodeMonitor(world.deps);
  await monitor.pass(signal);
  const tainted = async () =>
    (await world.client.list(kinds.Node)).filter((one) => taintsOf(one).length > 0).length;
  await passes(world, monitor, { ms: 55_000, alive: ['c', 'd', 'e'] });
  expect(await tainted()).toBe(1);
  await passes(world, monitor, { ms: 5000, alive: ['c', 'd', 'e'] });
  expect(await tainted()).toBe(1);
  await passes(world, monitor, { ms: 5000, alive: ['c', 'd', 'e'] });
  expect(await tainted()).toBe(2);
});

test('when all nodes are silent none keeps a taint, until one is back', async () => {
  const world = nodeWorld([node('n1'), node('n2'), node('n3')]);
  const monitor = new NodeMonitor(world.deps);
  await monitor.pass(signal);
  await passes(world, monitor, { ms: 55_000, alive: ['n2', 'n3'] });
  expect(taintsOf(await world.readNode('n1'))).toEqual([unreachable]);
  await passes(world, monitor, { ms: 60_000, alive: [] });
  for (const name of ['n1', 'n2', 'n3']) expect(taintsOf(await world.readNode(name))).toEqual([]);
  await passes(world, monitor, { ms: 5000, alive: ['n2'] });
  expect(taintsOf(await world.readNode('n1'))).toEqual([]);
  await passes(world, monitor, { ms: 10_000, alive: ['n2'] });
  expect(taintsOf(await world.readNode('n1'))).toEqual([unreachable]);
});

test('a pod that comes to a node that is not ready is marked, and one that is removed is reported', async () => {
  const world = nodeWorld([node('n1', { ready: 'False' }), node('n2'), pod('late', 'n1')]);
  const monitor = new NodeMonitor(world.deps);
  await monitor.pass(signal);
  const late = await world.client.get(kinds.Pod, { namespace: 'default', name: 'late' });
  expect(late.status?.conditions?.[0]?.status).toBe('True');
  await monitor.placed(late, signal);
  const marked = await world.client.get(kinds.Pod, { namespace: 'default', name: 'late' });
  expect(marked.status?.conditions?.[0]?.status).toBe('False');
  await world.client.delete(kinds.Node, { name: 'n1' });
  await monitor.pass(signal);
  expect(world.reports.at(-1)).toBe('Node n1: RemovingNode: Node n1 event: Removing Node n1 from Controller');
});
