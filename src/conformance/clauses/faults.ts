import { AgentError, messageOf } from '../../base/errors.ts';
import type { Pod } from '../../kube/types.ts';
import { type Clause, expect, shown, type Trial } from '../subject.ts';

const area = 'faults';
type Needs = NonNullable<Clause['needs']>;
const failing: Needs = ({ failNext }) => (failNext ? undefined : 'failNext: calls that can be made to fail');

const failingReads: Needs = (world) =>
  failing(world) ?? (world.lacks?.includes('reads') ? 'reads: listings that call the backend' : undefined);

const rejects = async (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    (reason: unknown) => messageOf(reason).includes('backend is down'),
  );

function fail(t: Trial, call: 'listPods' | 'getPodStatus' | 'killPod' | 'syncPod'): void {
  t.world.failNext?.(call, new Error('the backend is down'));
}

const hanging: Needs = ({ hangNext }) => (hangNext ? undefined : 'hangNext: calls that can be made to hang');

/** Begins a sync that the backend does not answer. */
function hang(t: Trial, pod: Pod): { readonly cancel: () => void; readonly ended: Promise<unknown> } {
  const end = new AbortController();
  t.world.hangNext?.('syncPod');
  const failure = t.sync(pod, end.signal).then(
    ({ error }) => error,
    (reason: unknown) => reason,
  );
  const cancel = (): void => {
    end.abort(new AgentError('deadline_exceeded', 'the law waits no longer'));
  };
  return { cancel, ended: failure };
}

const hangs: readonly Clause[] = [
  {
    name: 'hanging-call-holds-no-other',
    area,
    rule: 'R83',
    law: 'While the backend does not answer the sync of one pod, another is started, listed and killed.',
    needs: hanging,
    async check(t) {
      const [stuck, other] = [t.behaving(t.pod(), {}), t.behaving(t.pod({}, 'other'), {})];
      const { cancel, ended } = hang(t, stuck);
      await t.pass(200);
      try {
        await t.during(t.started(other));
        expect((await t.listed(other)) !== undefined, () => 'the listing lacks the other pod');
        await t.kill(other, 1);
      } finally {
        cancel();
        await Promise.race([ended, t.pass(1000)]);
      }
    },
  },
  {
    name: 'hanging-call-ends-when-cancelled',
    area,
    rule: 'R153',
    law: 'A sync that the backend does not answer fails with an error soon after its signal aborts, as at a deadline, and the next one starts the pod.',
    needs: hanging,
    async check(t) {
      const pod = t.behaving(t.pod(), {});
      const { cancel, ended } = hang(t, pod);
      await t.pass(500);
      cancel();
      const failure = await t.during(ended, t.soonMs);
      expect(
        failure !== undefined && messageOf(failure) !== '',
        () => 'the sync succeeded, or its error is empty',
      );
      await t.started(pod);
    },
  },
];

const fails: readonly Clause[] = [
  {
    name: 'failed-listing-is-an-error',
    area,
    rule: 'R70',
    law: 'A listing that fails rejects; it is never empty or shorter instead.',
    needs: failingReads,
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
    needs: failingReads,
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
    name: 'failed-sync-is-an-error',
    area,
    rule: 'R153',
    law: 'A sync that fails says so, and the next one starts each container once.',
    needs: failing,
    async check(t) {
      const pod = t.behaving(t.pod(), {});
      fail(t, 'syncPod');
      const failed = await t.sync(pod).then(
        ({ error }) => error !== undefined,
        () => true,
      );
      expect(failed, () => 'the sync succeeded although the backend was down');
      await t.started(pod);
      const status = await t.status(pod);
      expect(status.containerStatuses.length === 1, () => `the next sync made: ${shown(status)}`);
    },
  },
];

export const faults: readonly Clause[] = [...fails, ...hangs];
