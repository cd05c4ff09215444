import { uidOf } from '../../kube/names.ts';
import { type Clause, endedByTerm, expect, shown, trapMs } from '../subject.ts';

const area = 'termination';

export const termination: readonly Clause[] = [
  {
    name: 'kill-stops-everything',
    area,
    rule: 'R155',
    law: 'When killPod has resolved, no container of the pod runs.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      await t.kill(pod);
      const status = await t.status(pod);
      expect(
        status.containerStatuses.every(({ state }) => state === 'exited'),
        () => `after the kill: ${shown(status)}`,
      );
    },
  },
  {
    name: 'kill-stops-the-sandbox',
    area,
    rule: 'R165',
    law: 'When killPod has resolved, no sandbox of the pod is ready.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      await t.kill(pod);
      const { sandboxStatuses } = await t.status(pod);
      expect(
        sandboxStatuses.every(({ state }) => state === 'SANDBOX_NOTREADY'),
        () => 'a sandbox is still ready',
      );
    },
  },
  {
    name: 'kill-waits',
    area,
    rule: 'R158',
    law: 'killPod does not resolve while a container still runs.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), { stopDelayMs: 2000 }));
      const seen = { resolved: false };
      const killed = t.killing(pod, 30).then(() => {
        seen.resolved = true;
      });
      await t.pass(500);
      const state = (await t.newest(pod))?.state;
      expect(!(seen.resolved && state === 'running'), () => 'killPod resolved while main runs');
      await t.during(killed);
      const after = await t.status(pod);
      expect(
        after.containerStatuses.every((one) => one.state === 'exited'),
        () => `it resolved with ${shown(after)}`,
      );
    },
  },
  {
    name: 'grace-period-is-granted',
    area,
    rule: 'R164',
    law: 'A container that needs part of its grace period to stop gets that time, and ends with its own exit code.',
    async check(t) {
      await t.patiently(trapMs, async (ms) => {
        const plain = t.pod({}, `granted-${ms}`);
        const pod = await t.started(t.behaving(plain, { stopDelayMs: 2000, stopExitCode: 4 }));
        await t.pass(ms);
        await t.kill(pod, t.isFakeTime ? 10 : 30);
        await t.reach(pod, 'exited');
        const code = (await t.newest(pod))?.exitCode;
        if (code === endedByTerm) return false;
        expect(code === 4, () => `it ended with exit code ${code ?? 'none'} instead of its own, 4`);
        return true;
      });
    },
  },
  {
    name: 'grace-period-ends',
    area,
    rule: 'R164',
    law: 'A container that does not stop is killed when its grace period is over, with exit code 137.',
    async check(t) {
      await t.patiently(trapMs, async (ms) => {
        const plain = t.pod({}, `ending-${ms}`);
        const pod = await t.started(t.behaving(plain, { stopDelayMs: 60_000 }));
        await t.pass(ms);
        const from = t.now();
        await t.kill(pod, 2);
        await t.reach(pod, 'exited');
        const [took, code] = [t.now() - from, (await t.newest(pod))?.exitCode];
        if (code === endedByTerm) return false;
        const most = t.isFakeTime ? 20_000 : 50_000;
        expect(took < most, () => `it ended after ${took} ms, with a grace period of 2 s`);
        expect(code === 137, () => `it ended with exit code ${code ?? 'none'}`);
        return true;
      });
    },
  },
  {
    name: 'kill-is-repeatable',
    area,
    rule: 'R162',
    law: 'Killing a pod that has stopped, or that was never started, resolves.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      await t.kill(pod);
      await t.kill(pod);
      await t.kill(t.pod({}, 'never'));
    },
  },
  {
    name: 'kill-without-the-pod',
    area,
    rule: 'R159',
    law: 'A pod that only the listing shows can be killed.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const listed = await t.listed(pod);
      if (listed) await t.during(t.provider.killPod(undefined, listed, 1, new AbortController().signal));
      const status = await t.status(pod);
      expect(
        status.containerStatuses.every(({ state }) => state === 'exited'),
        () => `after the kill: ${shown(status)}`,
      );
    },
  },
  {
    name: 'stopped-pods-stay-readable',
    area,
    rule: 'R161',
    law: 'A pod that was killed keeps its status and its place in the listing.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      await t.kill(pod);
      const status = await t.status(pod);
      expect(status.containerStatuses.length > 0, () => 'the status has no containers any more');
      const listed = (await t.provider.listPods()).some(({ uid }) => uid === uidOf(pod));
      expect(listed, () => 'the listing has lost the pod');
    },
  },
];
