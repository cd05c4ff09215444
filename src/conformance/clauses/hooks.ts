import { uidOf } from '../../kube/names.ts';
import type { Container, Pod } from '../../kube/types.ts';
import { type Clause, endedByTerm, expect, needing, shown, trapMs, type Trial } from '../subject.ts';

const area = 'hooks';

/** A command with which a container leaves a mark, and one that ends with 0 where the mark is. */
function mark(pod: Pod): { readonly leave: string; readonly test: string } {
  const file = `/tmp/podtender-law-${uidOf(pod)}`;
  return { leave: `: > ${file}`, test: `[ -e ${file} ] && rm ${file}` };
}

const shell = (script: string): readonly string[] => ['/bin/sh', '-c', script];

/** The pod with handlers of its `main`. */
const withHooks = (pod: Pod, lifecycle: NonNullable<Container['lifecycle']>): Pod => ({
  ...pod,
  spec: {
    ...pod.spec,
    containers: (pod.spec?.containers ?? []).map((container) => ({ ...container, lifecycle })),
  },
});

/** Waits until `main` has ended, and returns its exit code. */
async function exitCodeOf(t: Trial, pod: Pod): Promise<number | undefined> {
  await t.reach(pod, 'exited');
  return (await t.newest(pod))?.exitCode;
}

export const hooks: readonly Clause[] = [
  {
    name: 'post-start-runs',
    area,
    rule: 'R180',
    law: 'A postStart handler runs in its container, after the start.',
    needs: needing(['commands', 'hooks']),
    async check(t) {
      const plain = t.pod({ restartPolicy: 'Never' });
      const { leave, test } = mark(plain);
      const script = `i=0; while [ $i -lt 300 ]; do ${test} && exit 3; sleep 0.1; i=$((i+1)); done; exit 4`;
      const pod = withHooks(t.commanding(plain, script), { postStart: { exec: { command: shell(leave) } } });
      await t.sync(pod);
      const code = await exitCodeOf(t, pod);
      expect(code === 3, () => `the container ended with ${code ?? 'none'}: it saw nothing of its postStart`);
    },
  },
  {
    name: 'failed-post-start-ends-it',
    area,
    rule: 'R180',
    law: 'A container whose postStart handler fails is killed, and the sync says so.',
    needs: (world) =>
      needing(['commands', 'hooks'])(world) ??
      (world.lacks?.includes('startReports') ? 'syncs that report failed starts' : undefined),
    async check(t) {
      const plain = t.behaving(t.pod({ restartPolicy: 'Never' }), {});
      const pod = withHooks(plain, { postStart: { exec: { command: shell('exit 1') } } });
      const { results } = await t.during(t.sync(pod));
      await t.reach(pod, 'exited');
      const reasons = results.flatMap(({ reason = [] }) => reason);
      expect(
        reasons.includes('PostStartHookError'),
        () => `the sync says ${reasons.join(', ') || 'nothing'}, not PostStartHookError`,
      );
    },
  },
  {
    name: 'pre-stop-comes-first',
    area,
    rule: 'R164',
    law: 'A preStop handler has run when the container gets its stop signal.',
    needs: needing(['commands', 'hooks']),
    async check(t) {
      await t.patiently(trapMs, async (ms) => {
        const plain = t.pod({ restartPolicy: 'Never' }, `pre-stop-${ms}`);
        const { leave, test } = mark(plain);
        const script = `trap '${test} && exit 3; exit 4' TERM; while :; do sleep 0.1; done`;
        // the shell sets its trap meanwhile
        const command = shell(`sleep ${ms / 1000}; ${leave}`);
        const pod = withHooks(t.commanding(plain, script), { preStop: { exec: { command } } });
        await t.started(pod);
        await t.kill(pod, 60);
        const code = await exitCodeOf(t, pod);
        if (code === endedByTerm) return false;
        expect(code === 3, () => `the container ended with ${code ?? 'none'}: its preStop had not run`);
        return true;
      });
    },
  },
  {
    name: 'pre-stop-has-the-grace-period',
    area,
    rule: 'R164',
    law: 'A preStop handler runs within the grace period: one that does not end holds up the stop for that time, plus 2 s.',
    needs: needing(['commands', 'hooks']),
    async check(t) {
      const preStop = { exec: { command: shell('sleep 60') } };
      let took = Infinity;
      // a busy machine may need some more time, but not always
      for (let attempt = 0; attempt < (t.isFakeTime ? 1 : 3) && took >= 8000; attempt++) {
        const plain = t.behaving(t.pod({ restartPolicy: 'Never' }, `grace-${attempt}`), {});
        const pod = await t.started(withHooks(plain, { preStop }));
        const from = t.now();
        await t.kill(pod, 2);
        took = t.now() - from;
        const status = await t.status(pod);
        expect(
          status.containerStatuses.every(({ state }) => state === 'exited'),
          () => `after the kill: ${shown(status)}`,
        );
      }
      expect(took < 8000, () => `the kill took ${took} ms, with a grace period of 2 s`);
    },
  },
];
