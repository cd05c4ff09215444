import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventResource, podResource, serviceAccountResource } from '../../src/api/resources.ts';
import type { Event, Pod } from '../../src/kube/types.ts';
import { skipWithoutContainerd } from '../support/containerd.ts';
import { type CriAgent, startCriAgent } from '../support/cri-agent.ts';
import { type CriCall, type CriFault, type CriMethod, CriProxy } from '../support/cri-proxy.ts';
import { onePod } from './cri-node.ts';
import { condition } from './podtender.ts';
import { found } from '../support/found.ts';

const fail: CriFault = { kind: 'fail' };
const lose: CriFault = { kind: 'lose' };
const hang: CriFault = { kind: 'hang' };
const answer = (change: (status: Record<string, unknown>) => object | undefined): CriFault => ({
  kind: 'answer',
  change: ({ status }) => ({ status: change(status as Record<string, unknown>) }),
});
/** Of the first container of its name, not of what came in its place. */
const isFirst = ({ metadata }: Record<string, unknown>): boolean =>
  ((metadata as { attempt?: number } | undefined)?.attempt ?? 0) === 0;
const nothing: CriFault = { kind: 'answer', change: () => ({}) };

interface Row {
  readonly method: CriMethod;
  readonly fault: CriFault;
  /** How often; default once; `Infinity`: each time. */
  readonly times?: number;
  /** Reason and message of an Event, if the kubelet has one for it. */
  readonly told?: string;
  /** How often the container was made beyond the first time. */
  readonly restarts?: number;
  readonly container?: object;
}

const unknown = 'rpc error: code = Unknown desc = injected fault';
const late = 'rpc error: code = DeadlineExceeded desc = context deadline exceeded';
const sandboxFailed = 'FailedCreatePodSandBox Failed to create pod sandbox:';
const noSandboxStatus = 'FailedPodSandBoxStatus Unable to get pod sandbox status:';
const postStart = { lifecycle: { postStart: { exec: { command: ['true'] } } } };

/** What goes wrong while a pod starts, once; the pod runs nevertheless. */
const starts: Readonly<Record<string, Row>> = {
  'run-fails': { method: 'RunPodSandbox', fault: fail, told: `${sandboxFailed} ${unknown}` },
  'run-hangs': { method: 'RunPodSandbox', fault: hang, told: `${sandboxFailed} ${late}` },
  'run-is-lost': { method: 'RunPodSandbox', fault: lose, told: `${sandboxFailed} ${unknown}` },
  'run-has-no-id': {
    method: 'RunPodSandbox',
    fault: nothing,
    told: `${sandboxFailed} PodSandboxId is not set for sandbox`,
  },
  'sandbox-status-fails': {
    method: 'PodSandboxStatus',
    fault: fail,
    told: `${noSandboxStatus} ${unknown}`,
  },
  'sandbox-status-hangs': { method: 'PodSandboxStatus', fault: hang, told: `${noSandboxStatus} ${late}` },
  'sandbox-status-is-missing': { method: 'PodSandboxStatus', fault: nothing, times: 3 },
  'sandbox-status-has-no-id': {
    method: 'PodSandboxStatus',
    fault: answer((status) => ({ ...status, id: '' })),
    told: `${noSandboxStatus} status.Id is not set`,
  },
  'create-fails': { method: 'CreateContainer', fault: fail, told: 'Failed Error: injected fault' },
  'create-hangs': {
    method: 'CreateContainer',
    fault: hang,
    told: 'Failed Error: context deadline exceeded',
  },
  'create-is-lost': {
    method: 'CreateContainer',
    fault: lose,
    told: 'Failed Error: injected fault',
    restarts: 1,
  },
  'start-fails': {
    method: 'StartContainer',
    fault: fail,
    told: 'Failed Error: injected fault',
    restarts: 1,
  },
  'start-is-lost': { method: 'StartContainer', fault: lose, told: 'Failed Error: injected fault' },
  'hook-fails': {
    method: 'ExecSync',
    fault: fail,
    container: postStart,
    told: 'FailedPostStartHook PostStartHook failed',
    restarts: 1,
  },
  'status-fails': { method: 'ContainerStatus', fault: fail },
  'status-hangs': { method: 'ContainerStatus', fault: hang },
  'status-is-missing': { method: 'ContainerStatus', fault: nothing, times: 3 },
  'status-is-of-tomorrow': {
    method: 'ContainerStatus',
    fault: answer((status) => (isFirst(status) ? { ...status, state: 77 } : status)),
    times: Infinity,
    restarts: 1,
    told: 'Killing Container is in "unknown" state, try killing it before restart',
  },
};

/** What goes wrong while a pod ends, once; it ends nevertheless. */
const ends: Readonly<Record<string, Row>> = {
  'stop-fails': {
    method: 'StopContainer',
    fault: fail,
    told: `FailedKillPod error killing pod: failed to "KillContainer" for "c" with KillContainerError: "${unknown}"`,
  },
  'stop-hangs': {
    method: 'StopContainer',
    fault: hang,
    told: `FailedKillPod error killing pod: failed to "KillContainer" for "c" with KillContainerError: "${late}"`,
  },
  'sandbox-stop-fails': {
    method: 'StopPodSandbox',
    fault: fail,
    told: 'FailedKillPod error killing pod: failed to "KillPodSandbox"',
  },
  'last-status-fails': { method: 'ContainerStatus', fault: fail, times: 3 },
};

let tries = 0;
/** A pod's name of its own for each try of a test. */
const named = (row: string): string => `${row}-${++tries}`;

const podOf = (name: string, container: object = {}): Pod =>
  onePod(
    name,
    { command: ['/bin/sleep', '1000'], ...container },
    { nodeName: 'node-a', automountServiceAccountToken: false },
    { namespace: 'default' },
  );

/** The rows whose calls hang, or the others. */
const rowsOf = (rows: Readonly<Record<string, Row>>, hanging: boolean): readonly [string, Row][] =>
  Object.entries(rows).filter(([, { fault }]) => (fault.kind === 'hang') === hanging);

/** Calls that hang end by the deadline, so it is short there; elsewhere it is longer than any call on a busy machine. */
const kinds = [
  { what: 'errs', hanging: false, runtimeRequestTimeout: '12s' },
  { what: 'hangs', hanging: true, runtimeRequestTimeout: '4s' },
];

/** Each call of a pod's life fails, is late or answers nonsense, while other pods go on. */
describe.skipIf(skipWithoutContainerd()).for(kinds)(
  'a runtime that $what',
  { timeout: 90_000, concurrent: true },
  ({ what, hanging, runtimeRequestTimeout }) => {
    let node: CriAgent;
    let proxy: CriProxy;
    /** Of which pod a sandbox or container is. */
    const podOfId = new Map<string, string>();
    const armed = new Map<string, { readonly row: Row; left: number }>();

    /** The pod that a call is about; empty: none alone. */
    function aboutPod({ request }: CriCall): string {
      const { config, sandboxConfig, containerId, podSandboxId } = request as {
        readonly config?: { readonly metadata?: { readonly name?: string; readonly namespace?: string } };
        readonly sandboxConfig?: { readonly metadata?: { readonly name?: string } };
        readonly containerId?: string;
        readonly podSandboxId?: string;
      };
      const { namespace, name = '' } = config?.metadata ?? {};
      if (namespace !== undefined) return name;
      return sandboxConfig?.metadata?.name ?? podOfId.get(containerId ?? podSandboxId ?? '') ?? '';
    }

    function faultOf(call: CriCall): CriFault | undefined {
      const pod = aboutPod(call);
      const at = armed.get(pod);
      if (at && at.left > 0 && at.row.method === call.method) {
        at.left--;
        return at.row.fault;
      }
      if (call.method !== 'RunPodSandbox' && call.method !== 'CreateContainer') return undefined;
      return {
        kind: 'answer',
        change: (made) => {
          podOfId.set(String(made['containerId'] ?? made['podSandboxId']), pod);
          return made;
        },
      };
    }

    beforeAll(async () => {
      node = await startCriAgent({
        cgroupRoot: `/pt-faults-${what}`,
        kubelet: { runtimeRequestTimeout },
        runtime: async (socket, dir) => {
          proxy = await CriProxy.start(socket, join(dir, 'proxy.sock'));
          proxy.faultOf = faultOf;
          return join(dir, 'proxy.sock');
        },
      });
      await node.admin.create(serviceAccountResource, {
        metadata: { name: 'default', namespace: 'default' },
      });
      await node.admin.create(podResource, podOf('bystander'));
      await until('bystander', isReady);
    }, 60_000);

    afterAll(async () => {
      await node.stop();
      proxy.stop();
    }, 60_000);

    const isReady = (pod: Pod | undefined): boolean =>
      pod !== undefined && condition(pod, 'Ready') === 'True';

    const restartsOf = (pod: Pod | undefined): number =>
      pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;

    async function until(name: string, fits: (pod: Pod | undefined) => boolean): Promise<Pod | undefined> {
      const look = async (): Promise<{ readonly pod: Pod | undefined } | undefined> => {
        const pod = await node.admin
          .get<Pod>(podResource, { namespace: 'default', name })
          .catch(() => undefined);
        return fits(pod) ? { pod } : undefined;
      };
      return (await found(`pod ${name} as wanted`, look, { withinMs: 60_000, everyMs: 100 })).pod;
    }

    /** Reason and message of the pod's Events, once they are written. */
    async function told(name: string, wanted: string | undefined): Promise<readonly string[]> {
      const look = async (): Promise<readonly string[] | undefined> => {
        const { items } = await node.admin.list<Event>(eventResource, { namespace: 'default' });
        const texts = items
          .filter(({ involvedObject }) => involvedObject.name === name)
          .map(({ reason = '', message = '' }) => `${reason} ${message}`);
        return wanted === undefined || texts.some((text) => text.startsWith(wanted)) ? texts : undefined;
      };
      return found(`an Event ${wanted ?? ''}`, look, { withinMs: 10_000, everyMs: 100 });
    }

    const runningOf = (name: string): number =>
      node.containerd.containers().filter((pod) => pod === name).length;

    test.for(rowsOf(starts, hanging))('%s, and the pod runs', async ([title, row]) => {
      const name = named(title);
      const at = { row, left: row.times ?? 1 };
      armed.set(name, at);
      await node.admin.create(podResource, podOf(name, row.container));
      const { restarts = 0 } = row;
      const pod = await until(name, (one) => isReady(one) && restartsOf(one) >= restarts);
      await told(name, row.told);
      expect(at.left).toBe(row.times === Infinity ? Infinity : 0);
      expect(restartsOf(pod)).toBe(restarts);
      expect(runningOf(name)).toBe(1);
    });

    test.for(rowsOf(ends, hanging))('%s, and the pod ends', async ([title, row]) => {
      const name = named(title);
      await node.admin.create(podResource, podOf(name));
      await until(name, isReady);
      const at = { row, left: row.times ?? 1 };
      armed.set(name, at);
      await node.admin.delete(podResource, { namespace: 'default', name });
      await until(name, (pod) => pod === undefined);
      await told(name, row.told);
      expect(at.left).toBe(0);
      expect(runningOf(name)).toBe(0);
      const bystander = await until('bystander', isReady);
      expect(restartsOf(bystander)).toBe(0);
    });
  },
);
