import { messageOf } from '../../base/errors.ts';
import { uidOf } from '../../kube/names.ts';
import { type Clause, expect, shown, type Trial } from '../subject.ts';

const area = 'faults and recovery';
type Needs = NonNullable<Clause['needs']>;
const failing: Needs = ({ failNext }) => (failNext ? undefined : 'failNext: calls that can be made to fail');
const restarting: Needs = ({ restart }) =>
  restart ? undefined : 'restart: a backend that outlives the provider';

const rejects = async (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    (reason: unknown) => messageOf(reason).includes('backend is down'),
  );

function fail(t: Trial, call: 'listPods' | 'getPodStatus' | 'killPod'): void {
  t.world.failNext?.(call, new Error('the backend is down'));
}

export const faults: readonly Clause[] = [
  {
    name: 'failed-listing-is-an-error',
    area,
    rule: 'R70',
    law: 'A listing that fails rejects; it is never empty or shorter instead.',
    needs: failing,
    async check(t) {
      await t.started(t.behaving(t.pod(), {}));
      fail(t, 'listPods');
      expect(await rejects(t.provider.listPods()), () => 'listPods resolved although the backend was down');
    },
  },
  {
    name: 'failed-status-is-an-error',
    area,
    rule: 'R230',
    law: 'A status that cannot be read rejects; it is never an empty status instead.',
    needs: failing,
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      fail(t, 'getPodStatus');
      expect(await rejects(t.status(pod)), () => 'getPodStatus resolved although the backend was down');
    },
  },
  {
    name: 'failed-kill-is-an-error',
    area,
    rule: 'R158',
    law: 'A kill that fails rejects, and the next one stops the pod.',
    needs: failing,
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      fail(t, 'killPod');
      expect(await rejects(t.killing(pod)), () => 'killPod resolved although the backend was down');
      await t.kill(pod);
      const status = await t.status(pod);
      expect(
        status.containerStatuses.every(({ state }) => state === 'exited'),
        () => `then: ${shown(status)}`,
      );
    },
  },
  {
    name: 'pods-survive-a-restart',
    area,
    rule: 'R265',
    law: 'After a restart of the agent the provider lists the same pods, with the same container IDs, and starts nothing anew.',
    needs: restarting,
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
    name: 'exec-runs-where-it-says',
    area: 'streams',
    rule: 'R239',
    law: 'A command is refused in a container that does not run.',
    needs: ({ provider }) => (provider.execSync ? undefined : 'execSync'),
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
      const id = (await t.newest(pod))?.id ?? '';
      const container = { podUid: uid, namespace, pod: name, container: 'main', id };
      const run = async (): Promise<number | undefined> =>
        (await t.provider.execSync?.(container, ['true'], 5000))?.exitCode;
      const code = await t.during(run());
      expect(code === 0, () => `true ended with exit code ${code ?? 'none'}`);
      await t.kill(pod);
      const refused = await run().then(
        () => false,
        () => true,
      );
      expect(refused, () => 'a command was answered in a container that has ended');
    },
  },
  {
    name: 'usage-of-what-runs',
    area: 'node',
    rule: 'R250',
    law: 'The usage lists the pods that run, and none that was never started.',
    needs: ({ provider }) => (provider.listUsage ? undefined : 'listUsage'),
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const uids = (await t.provider.listUsage?.())?.map((usage) => usage.uid) ?? [];
      const never = uidOf(t.pod({}, 'never'));
      expect(
        uids.includes(uidOf(pod)) && !uids.includes(never),
        () => `the usage is of ${uids.join(', ') || 'no pod'}`,
      );
    },
  },
];
