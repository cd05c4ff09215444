import type { Container, Pod } from '../../kube/types.ts';
import { type Clause, expect, shown, type Trial } from '../subject.ts';

const area = 'init and sidecars';

export const init: readonly Clause[] = [
  {
    name: 'init-runs-first',
    area,
    rule: 'R172',
    law: 'Init containers run one after another, and no regular container starts before all have succeeded.',
    async check(t) {
      const initContainers = ['first', 'second'].map((name) => t.container(name));
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
      const initContainers = [t.container('setup')];
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
    needs: ({ lacks = [] }) => (lacks.includes('sidecars') ? 'sidecars' : undefined),
    async check(t) {
      const pod = t.behaving(t.behaving(t.pod({ initContainers: [sidecar(t)] }), {}), {}, 'proxy');
      await syncedUntilMainRuns(t, pod);
      const state = (await t.newest(pod, 'proxy'))?.state;
      expect(state === 'running', () => `the sidecar is ${state ?? 'absent'} while main runs`);
    },
  },
  {
    name: 'init-runs-once',
    area,
    rule: 'R174',
    law: 'An init container that has succeeded is not started again while the pod runs.',
    async check(t) {
      const plain = t.behaving(t.pod({ initContainers: [t.container('setup')] }), {});
      const pod = t.behaving(plain, { runMs: 300 }, 'setup');
      await syncedUntilMainRuns(t, pod);
      for (let round = 0; round < 2; round++) {
        await t.pass(1000);
        await t.sync(pod);
      }
      const status = await t.status(pod);
      const setups = status.containerStatuses.filter(({ name }) => name === 'setup');
      expect(
        setups.every(({ restartCount, state }) => restartCount === 0 && state === 'exited'),
        () => `then: ${shown(status)}`,
      );
    },
  },
  {
    name: 'failed-init-is-tried-again',
    area,
    rule: 'R173',
    law: 'With restartPolicy OnFailure an init container that has failed is started again, and no regular container before it has succeeded.',
    async check(t) {
      const initContainers = [t.container('setup')];
      const plain = t.behaving(t.pod({ initContainers, restartPolicy: 'OnFailure' }), {});
      const pod = t.behaving(plain, { runMs: 300, exitCode: 1 }, 'setup');
      await t.until(
        async () => {
          await t.sync(pod);
          return ((await t.newest(pod, 'setup'))?.restartCount ?? 0) > 0;
        },
        async () => `setup was not started again: ${shown(await t.status(pod))}`,
        40_000,
      );
      const main = await t.newest(pod);
      expect(main?.state !== 'running', () => 'main runs although its init container has failed');
    },
  },
  {
    name: 'sidecars-start-again',
    area,
    rule: 'R175',
    law: 'A sidecar that ends is started again, also with restartPolicy Never.',
    async check(t) {
      const plain = t.pod({ restartPolicy: 'Never', initContainers: [sidecar(t)] });
      const pod = t.behaving(t.behaving(plain, {}), { runMs: 2000 }, 'proxy');
      await syncedUntilMainRuns(t, pod);
      await t.until(
        async () => {
          await t.sync(pod);
          return ((await t.newest(pod, 'proxy'))?.restartCount ?? 0) > 0;
        },
        async () => `the sidecar was not started again: ${shown(await t.status(pod))}`,
        40_000,
      );
    },
  },
  {
    name: 'sidecars-stop-last',
    area,
    rule: 'R163',
    law: 'A sidecar runs until the regular containers of the pod have stopped.',
    async check(t) {
      const plain = t.behaving(t.pod({ initContainers: [sidecar(t)] }), { stopDelayMs: 2000 });
      const pod = t.behaving(plain, {}, 'proxy');
      await syncedUntilMainRuns(t, pod);
      await t.kill(pod, 20);
      const [main, proxy] = await Promise.all(['main', 'proxy'].map((name) => t.newest(pod, name)));
      const [mainEnd = Infinity, proxyEnd = -Infinity] = [main?.finishedAt, proxy?.finishedAt];
      expect(proxyEnd >= mainEnd, () => `proxy stopped ${mainEnd - proxyEnd} ms before main`);
    },
  },
];

const sidecar = (t: Trial): Container => ({ ...t.container('proxy'), restartPolicy: 'Always' });

const syncedUntilMainRuns = (t: Trial, pod: Pod): Promise<void> =>
  t.until(
    async () => {
      await t.sync(pod);
      return (await t.newest(pod))?.state === 'running';
    },
    async () => `main does not run: ${shown(await t.status(pod))}`,
  );
