import type { Pod } from '../../kube/types.ts';
import { type Clause, expect } from '../subject.ts';
import type { TrialNode } from '../trial-node.ts';

const area = 'status at the API server';

const isReady = (pod: Pod | undefined): boolean =>
  pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

const summary = (pod: Pod | undefined): string =>
  pod
    ? `${pod.status?.phase ?? 'no phase'}, ${isReady(pod) ? 'ready' : 'not ready'}: ${JSON.stringify(
        pod.status?.containerStatuses?.map(({ name, state, restartCount }) => ({
          name,
          state,
          restartCount,
        })),
      )}`
    : 'the pod is gone';

const shows = (node: TrialNode, pod: Pod, holds: (pod: Pod | undefined) => boolean) =>
  node.until(
    () => holds(node.pod(pod)),
    () => summary(node.pod(pod)),
  );

const order = ['Pending', 'Running', 'Succeeded', 'Failed'];

export const podStatus: readonly Clause[] = [
  {
    name: 'running-pods-are-ready',
    area,
    rule: 'R240',
    law: 'A pod without probes is Running and Ready when its containers run, with an address and a start time.',
    async check(t) {
      const node = await t.node();
      const pod = node.create(t.behaving(t.pod(), {}));
      await shows(node, pod, (seen) => seen?.status?.phase === 'Running' && isReady(seen));
      const { podIP, startTime } = node.pod(pod)?.status ?? {};
      expect(
        podIP !== undefined && startTime !== undefined,
        () => `podIP ${podIP ?? 'absent'}, startTime ${startTime ?? 'absent'}`,
      );
    },
  },
  {
    name: 'ends-are-phases',
    area,
    rule: 'R211',
    law: 'A pod that is not restarted ends as Succeeded when all containers ended with 0, else as Failed, and phases never go back.',
    async check(t) {
      const node = await t.node();
      for (const [exitCode, phase] of [
        [0, 'Succeeded'],
        [3, 'Failed'],
      ] as const) {
        const plain = t.pod({ restartPolicy: 'Never' }, `ends-${exitCode}`);
        const pod = node.create(t.behaving(plain, { runMs: 1000, exitCode }));
        await shows(node, pod, (seen) => order.indexOf(seen?.status?.phase ?? '') >= 2);
        const phases = node.phases(pod);
        expect(phases.at(-1) === phase, () => `exit code ${exitCode} ended as ${phases.join(', ')}`);
        const sorted = phases.toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
        expect(phases.join() === sorted.join(), () => `the phases were ${phases.join(', ')}`);
        const code = node.pod(pod)?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
        expect(code === exitCode, () => `exit code ${exitCode} is reported as ${code ?? 'none'}`);
      }
    },
  },
  {
    name: 'deleted-pods-end-first',
    area,
    rule: 'R272',
    law: 'A pod that is deleted leaves the API server after a terminal phase, when none of its containers run.',
    async check(t) {
      const node = await t.node();
      const pod = node.create(t.behaving(t.pod(), {}));
      await shows(node, pod, (seen) => seen?.status?.phase === 'Running');
      node.delete(pod, 5);
      await shows(node, pod, (seen) => seen === undefined);
      const phases = node.phases(pod);
      const last = phases.at(-1) ?? 'none';
      expect(order.indexOf(last) >= 2, () => `its last phase was ${last}`);
      const listed = await t.listed(pod);
      const live = listed?.containers.filter(({ state }) => state === 'running') ?? [];
      expect(live.length === 0, () => `then ${live.map(({ name }) => name).join(', ')} still runs`);
    },
  },
  {
    name: 'crash-loops-show',
    area,
    rule: 'R224',
    law: 'A container that has crashed again waits with the reason CrashLoopBackOff from the next sync on, and its last end is shown.',
    async check(t) {
      const node = await t.node();
      const pod = node.create(t.behaving(t.pod(), { runMs: 300, exitCode: 9 }));
      const waits = (seen: Pod | undefined): boolean =>
        seen?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff';
      await shows(node, pod, (seen) => {
        const { restartCount, state } = seen?.status?.containerStatuses?.[0] ?? {};
        return restartCount === 1 && state?.running === undefined;
      });
      node.label(pod, 'touched'); // the change of a user is the next sync
      await shows(node, pod, waits);
      const code = node.pod(pod)?.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode;
      expect(code === 9, () => `its last end is shown with exit code ${code ?? 'none'}`);
    },
  },
  {
    name: 'orphans-are-killed',
    area: 'restart of the agent',
    rule: 'R277',
    law: 'A pod whose object was removed while the agent was down is killed when it is back.',
    needs: ({ restart }) => (restart ? undefined : 'restart: a backend that outlives the provider'),
    async check(t) {
      const node = await t.node();
      const pod = node.create(t.behaving(t.pod(), {}));
      await shows(node, pod, (seen) => seen?.status?.phase === 'Running');
      await node.stop();
      node.delete(pod, 0);
      await t.restart();
      await node.start();
      await t.until(
        async () => {
          const listed = await t.listed(pod);
          return listed?.containers.every(({ state }) => state !== 'running') ?? true;
        },
        async () => 'the pod still runs',
        60_000,
      );
    },
  },
  {
    name: 'statuses-survive-a-restart',
    area: 'restart of the agent',
    rule: 'R269',
    law: 'A pod that runs stays Running and Ready through a restart of the agent, with the same containers, each started once.',
    needs: ({ restart }) => (restart ? undefined : 'restart: a backend that outlives the provider'),
    async check(t) {
      const node = await t.node();
      const pod = node.create(t.behaving(t.pod(), {}));
      await shows(node, pod, (seen) => seen?.status?.phase === 'Running' && isReady(seen));
      const before = node.pod(pod)?.status?.containerStatuses?.[0]?.containerID;
      const lost: string[] = [];
      node.onChange(pod, (seen) => {
        if (!isReady(seen) || seen.status?.phase !== 'Running') lost.push(summary(seen));
      });
      await node.stop();
      await t.restart();
      await node.start();
      await t.pass(5000);
      expect(lost.length === 0, () => `meanwhile: ${lost[0] ?? ''}`);
      const after = node.pod(pod)?.status?.containerStatuses?.[0];
      expect(
        after?.containerID === before && after?.restartCount === 0,
        () => `then: ${summary(node.pod(pod))}`,
      );
    },
  },
  {
    name: 'failed-syncs-are-tried-again',
    area: 'faults',
    rule: 'R117',
    law: 'A pod whose first sync fails runs after a later one, and its containers are started once.',
    needs: ({ failNext }) => (failNext ? undefined : 'failNext: calls that can be made to fail'),
    async check(t) {
      const node = await t.node();
      t.world.failNext?.('syncPod', new Error('the backend is down'));
      const pod = node.create(t.behaving(t.pod(), {}));
      await shows(node, pod, (seen) => seen?.status?.phase === 'Running' && isReady(seen));
      const count = node.pod(pod)?.status?.containerStatuses?.[0]?.restartCount;
      expect(count === 0, () => `its container has the restart count ${count ?? 'none'}`);
    },
  },
];
