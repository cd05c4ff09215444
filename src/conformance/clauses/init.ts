import { type Clause, expect, shown } from '../subject.ts';

const area = 'init and sidecars';
const image = 'busybox';

export const init: readonly Clause[] = [
  {
    name: 'init-runs-first',
    area,
    rule: 'R172',
    law: 'Init containers run one after another, and no regular container starts before all have succeeded.',
    async check(t) {
      const initContainers = ['first', 'second'].map((name) => ({ name, image }));
      let pod = t.behaving(t.pod({ initContainers }), {});
      for (const { name } of initContainers) pod = t.behaving(pod, { runMs: 1000 }, name);
      await t.until(
        async () => {
          await t.sync(pod);
          const [first, second, main] = await Promise.all(
            ['first', 'second', 'main'].map((one) => t.newest(pod, one)),
          );
          expect(!second || first?.state === 'exited', () => 'second has begun before first has ended');
          expect(!main || second?.state === 'exited', () => 'main has begun before second has ended');
          return main?.state === 'running';
        },
        async () => `main does not run: ${shown(await t.status(pod))}`,
      );
    },
  },
  {
    name: 'failed-init-holds-the-pod',
    area,
    rule: 'R173',
    law: 'With restartPolicy Never, no regular container starts after an init container has failed.',
    async check(t) {
      const initContainers = [{ name: 'setup', image }];
      const plain = t.behaving(t.pod({ initContainers, restartPolicy: 'Never' }), {});
      const pod = t.behaving(plain, { runMs: 300, exitCode: 1 }, 'setup');
      await t.sync(pod);
      await t.reach(pod, 'exited', 'setup');
      await t.sync(pod);
      await t.pass(1000);
      const main = await t.newest(pod);
      expect(main?.state !== 'running', () => 'main runs although its init container has failed');
    },
  },
  {
    name: 'sidecars-run-along',
    area,
    rule: 'R172',
    law: 'A sidecar runs beside the regular containers.',
    async check(t) {
      const initContainers = [{ name: 'proxy', image, restartPolicy: 'Always' }];
      const pod = t.behaving(t.behaving(t.pod({ initContainers }), {}), {}, 'proxy');
      await t.until(
        async () => {
          await t.sync(pod);
          return (await t.newest(pod))?.state === 'running';
        },
        async () => `main does not run: ${shown(await t.status(pod))}`,
      );
      const state = (await t.newest(pod, 'proxy'))?.state;
      expect(state === 'running', () => `the sidecar is ${state ?? 'absent'} while main runs`);
    },
  },
];
