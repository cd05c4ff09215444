import { type Clause, expect, shown } from '../subject.ts';

const area = 'restarts';

export const restarts: readonly Clause[] = [
  {
    name: 'exit-codes-are-real',
    area,
    rule: 'R223',
    law: 'A container that ends by itself is reported with the exit code that it had.',
    async check(t) {
      for (const exitCode of [0, 1, 7]) {
        const pod = t.behaving(t.pod({ restartPolicy: 'Never' }), { runMs: 300, exitCode });
        await t.sync(pod);
        await t.reach(pod, 'exited');
        const code = (await t.newest(pod))?.exitCode;
        expect(code === exitCode, () => `exit code ${exitCode} is reported as ${code ?? 'none'}`);
      }
    },
  },
  {
    name: 'never-means-never',
    area,
    rule: 'R175',
    law: 'With restartPolicy Never a container that has ended is not started again.',
    async check(t) {
      const pod = t.behaving(t.pod({ restartPolicy: 'Never' }), { runMs: 300, exitCode: 1 });
      await t.sync(pod);
      await t.reach(pod, 'exited');
      for (let round = 0; round < 3; round++) {
        await t.pass(t.isFakeTime ? 60_000 : 1000);
        await t.sync(pod);
      }
      const status = await t.status(pod);
      expect(status.containerStatuses.length === 1, () => `it was started again: ${shown(status)}`);
    },
  },
  {
    name: 'success-ends-on-failure',
    area,
    rule: 'R175',
    law: 'With restartPolicy OnFailure a container that has succeeded is not started again.',
    async check(t) {
      const pod = t.behaving(t.pod({ restartPolicy: 'OnFailure' }), { runMs: 300 });
      await t.sync(pod);
      await t.reach(pod, 'exited');
      await t.pass(t.isFakeTime ? 60_000 : 1000);
      await t.sync(pod);
      const status = await t.status(pod);
      expect(status.containerStatuses.length === 1, () => `it was started again: ${shown(status)}`);
    },
  },
  {
    name: 'always-restarts',
    area,
    rule: 'R183',
    law: 'With restartPolicy Always a container that has ended is started again, with a restart count of one more.',
    async check(t) {
      const pod = t.behaving(t.pod(), { runMs: 300, exitCode: 1 });
      await t.sync(pod);
      await t.reach(pod, 'exited');
      await t.until(
        async () => {
          await t.sync(pod);
          return ((await t.newest(pod))?.restartCount ?? 0) > 0;
        },
        async () => `no second instance: ${shown(await t.status(pod))}`,
        40_000,
      );
      const count = (await t.newest(pod))?.restartCount;
      expect(count === 1, () => `the second instance has the restart count ${count ?? 'none'}`);
    },
  },
  {
    name: 'crashes-back-off',
    area,
    rule: 'R179',
    law: 'A container that has just crashed a second time waits: the sync says CrashLoopBackOff and until when.',
    needs: ({ lacks = [] }) => (lacks.includes('backOff') ? 'a back-off that syncs report' : undefined),
    async check(t) {
      const pod = t.behaving(t.pod(), { runMs: 300, exitCode: 1 });
      let reasons: readonly (string | undefined)[] = [];
      let until: number | undefined;
      await t.until(
        async () => {
          const { results, backOffUntil } = await t.sync(pod);
          reasons = results.map(({ reason }) => reason);
          until = backOffUntil;
          return reasons.includes('CrashLoopBackOff');
        },
        async () => `no sync was refused with CrashLoopBackOff: ${shown(await t.status(pod))}`,
        15_000,
      );
      expect((until ?? 0) > t.now(), () => `backOffUntil is ${until ?? 'absent'}, and it is ${t.now()}`);
    },
  },
];
