import { expect, test } from 'vitest';
import { readyFaults } from '../../src/agent/agent-node.ts';
import { nodeIdentity } from '../../src/agent/node-view.ts';
import { RuntimeState } from '../../src/pods/runtime-state.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import type { Node } from '../../src/kube/types.ts';
import { initialNode, reconcilePatch } from '../../src/node/register.ts';
import { readyCondition } from '../../src/node/setters/conditions.ts';

const node: Node = { status: { capacity: { cpu: '1', memory: '1Gi', pods: '110' } } };

/** The node's condition Ready, as `status message`. */
function told(runtimeState: RuntimeState): string {
  const { node: after } = readyCondition(
    node,
    0,
    readyFaults({ engines: { runtimeState } }, undefined),
    false,
  );
  const { status, message } = after.status?.conditions?.[0] ?? {};
  return `${status ?? ''} ${message ?? ''}`;
}

test('a runtime that is silent makes the node not ready after 30 s, and says so beside what else is wrong (R258)', async () => {
  const clock = new FakeClock();
  const state = new RuntimeState(clock);
  expect(told(state)).toBe('False container runtime status check may not have completed yet');
  state.observed({});
  await clock.advance(29_999);
  expect(told(state)).toBe('True kubelet is posting ready status');
  await clock.advance(1);
  expect(told(state)).toBe('False container runtime is down');
  state.addHealthCheck({ name: 'PLEG', check: () => 'it hangs' });
  expect(told(state)).toBe('False [container runtime is down, PLEG is not healthy: it hangs]');
});

test('what a runtime’s network lacks is told in its words, once', () => {
  const state = new RuntimeState(new FakeClock());
  const networkError = 'container runtime network not ready: NetworkReady=false reason:NoNet message:cable';
  state.observed({ networkError });
  expect(told(state)).toBe(`False ${networkError}`);
});

test('a node that a cloud controller finishes is tainted until then, and has the name that the cloud gave it', () => {
  const system = { operatingSystem: 'linux', architecture: 'amd64' };
  const options = { nodeName: 'n', node: { providerId: 'aws:///a/i-1', externalCloudProvider: true } };
  const identity = nodeIdentity(options as never, { system } as never);
  expect(initialNode(identity).spec).toEqual({
    providerID: 'aws:///a/i-1',
    taints: [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }],
  });
});

test('a node whose volumes no controller attaches loses the mark of one that had it', () => {
  const system = { operatingSystem: 'linux', architecture: 'amd64' };
  const nodeOf = (controllerAttachDetach: boolean): Node =>
    initialNode(
      nodeIdentity({ nodeName: 'n', node: { controllerAttachDetach } } as never, { system } as never),
    );
  const mark = 'volumes.kubernetes.io/controller-managed-attach-detach';
  expect(nodeOf(true).metadata?.annotations).toEqual({ [mark]: 'true' });
  expect(nodeOf(false).metadata?.annotations).toEqual({});
  expect(reconcilePatch(nodeOf(true), nodeOf(false))).toEqual({
    metadata: { annotations: { [mark]: null } },
  });
  expect(reconcilePatch(nodeOf(false), nodeOf(true))).toEqual({
    metadata: { annotations: { [mark]: 'true' } },
  });
  expect(reconcilePatch(nodeOf(false), nodeOf(false))).toBeUndefined();
});
