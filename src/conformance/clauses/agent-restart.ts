import { uidOf } from '../../kube/names.ts';
import { type Clause, expect, shown } from '../subject.ts';

const area = 'restart of the agent';
const needs: NonNullable<Clause['needs']> = ({ restart }) =>
  restart ? undefined : 'restart: a backend that outlives the provider';

export const agentRestart: readonly Clause[] = [
  {
    name: 'pods-survive-a-restart',
    area,
    rule: 'R265',
    law: 'After a restart of the agent the provider lists the same pods, with the same container IDs, and starts nothing anew.',
    needs,
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const before = (await t.newest(pod))?.id;
      await t.restart();
      const listed = await t.listed(pod);
      expect(listed !== undefined, () => `the listing lacks ${uidOf(pod)} after the restart`);
      await t.sync(pod);
      const status = await t.status(pod);
      expect(
        status.containerStatuses.length === 1 && status.containerStatuses[0]?.id === before,
        () => `after the restart: ${shown(status)}`,
      );
    },
  },
  {
    name: 'ends-survive-a-restart',
    area,
    rule: 'R267',
    law: 'A container that has ended before a restart of the agent is reported after it, with its exit code, and is not started again.',
    needs,
    async check(t) {
      const pod = t.behaving(t.pod({ restartPolicy: 'Never' }), { runMs: 300, exitCode: 6 });
      await t.sync(pod);
      await t.reach(pod, 'exited');
      await t.restart();
      await t.sync(pod);
      const status = await t.status(pod);
      const [only] = status.containerStatuses;
      expect(
        status.containerStatuses.length === 1 && only?.state === 'exited' && only.exitCode === 6,
        () => `after the restart: ${shown(status)}`,
      );
    },
  },
  {
    name: 'ends-during-a-restart',
    area,
    rule: 'R267',
    law: 'A container that ends after a restart of the agent, and was started before it, is reported with its exit code.',
    needs,
    async check(t) {
      const pod = t.behaving(t.pod({ restartPolicy: 'Never' }), { runMs: 3000, exitCode: 6 });
      await t.sync(pod);
      await t.restart();
      await t.reach(pod, 'exited');
      const code = (await t.newest(pod))?.exitCode;
      expect(code === 6, () => `exit code 6 is reported as ${code ?? 'none'}`);
    },
  },
  {
    name: 'counts-survive-a-restart',
    area,
    rule: 'R183',
    law: 'The restart count goes on after a restart of the agent.',
    needs,
    async check(t) {
      const pod = t.behaving(t.pod(), { runMs: 300, exitCode: 1 });
      const restarted = async (count: number): Promise<void> =>
        t.until(
          async () => {
            await t.sync(pod);
            return ((await t.newest(pod))?.restartCount ?? 0) >= count;
          },
          async () => `the restart count is ${(await t.newest(pod))?.restartCount ?? 'none'}`,
          60_000,
        );
      await restarted(1);
      await t.reach(pod, 'exited');
      await t.restart();
      const count = (await t.newest(pod))?.restartCount;
      expect(count === 1, () => `the restart count is ${count ?? 'none'} instead of 1`);
    },
  },
  {
    name: 'kills-after-a-restart',
    area,
    rule: 'R268',
    law: 'A pod that was started before a restart of the agent can be killed after it, also where only the listing shows it.',
    needs,
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      await t.restart();
      const listed = await t.listed(pod);
      if (listed) await t.during(t.provider.killPod(undefined, listed, 1, new AbortController().signal));
      const status = await t.status(pod);
      const { containerStatuses } = status;
      expect(
        containerStatuses.length > 0 && containerStatuses.every(({ state }) => state === 'exited'),
        () => `after the kill: ${shown(status)}`,
      );
    },
  },
];
