import { uidOf } from '../../kube/names.ts';
import { type Clause, expect, shown } from '../subject.ts';

const area = 'status';

export const status: readonly Clause[] = [
  {
    name: 'times-are-in-order',
    area,
    rule: 'R198',
    law: 'A container is created, then starts, then ends.',
    async check(t) {
      const pod = t.behaving(t.pod({ restartPolicy: 'Never' }), { runMs: 1000 });
      await t.sync(pod);
      await t.reach(pod, 'exited');
      const { createdAt = NaN, startedAt = NaN, finishedAt = NaN } = (await t.newest(pod)) ?? {};
      const ordered = createdAt <= startedAt && startedAt < finishedAt && finishedAt <= t.now() + 1000;
      expect(
        ordered,
        () => `created ${createdAt}, started ${startedAt}, finished ${finishedAt}, now ${t.now()}`,
      );
    },
  },
  {
    name: 'running-only-once-started',
    area,
    rule: 'R211',
    law: 'A container is not reported as running before it has started.',
    needs: ({ clock }) =>
      clock?.advance ? undefined : 'containers that take a given time to start (simulated time)',
    async check(t) {
      const pod = t.behaving(t.pod(), { startDelayMs: 5000 });
      await t.sync(pod);
      await t.pass(1000);
      const before = await t.newest(pod);
      expect(
        before?.state !== 'running',
        () => 'main is running 1 s after its creation; it takes 5 s to start',
      );
      await t.reach(pod, 'running');
    },
  },
  {
    name: 'changes-are-told',
    area,
    rule: 'R234',
    law: 'A listener of onPodEvent or onPodStatus hears of a pod whose container ends, and nothing after it has unsubscribed.',
    needs: ({ provider, lacks = [] }) =>
      (provider.onPodEvent ?? provider.onPodStatus) && !lacks.includes('events')
        ? undefined
        : 'onPodEvent or onPodStatus',
    async check(t) {
      const heard: string[] = [];
      const hear = (uid: string): void => void heard.push(uid);
      const end = t.provider.onPodEvent
        ? t.provider.onPodEvent(hear)
        : t.provider.onPodStatus?.(({ pod }) => {
            hear(pod.uid);
          });
      await t.patiently([1000, 5000, 30_000], async (ms) => {
        const plain = t.pod({ restartPolicy: 'Never' }, `told-${ms}`);
        const pod = await t.begun(t.behaving(plain, { runMs: ms }));
        if ((await t.newest(pod))?.state !== 'running') return false;
        heard.length = 0;
        await t.reach(pod, 'exited');
        await t.until(
          () => Promise.resolve(heard.includes(uidOf(pod))),
          () => Promise.resolve(`heard of ${heard.length === 0 ? 'nothing' : heard.join(', ')}`),
        );
        return true;
      });
      end?.();
      heard.length = 0;
      await t.started(t.behaving(t.pod({}, 'later'), {}));
      expect(heard.length === 0, () => 'a listener that has unsubscribed was called');
    },
  },
  {
    name: 'status-is-of-the-pod',
    area,
    rule: 'R112',
    law: "The status of a pod has its own UID, name and containers, and no other pod's.",
    async check(t) {
      const pods = [t.pod({}, 'a'), t.pod({}, 'b')].map((pod) => t.behaving(pod, {}));
      for (const pod of pods) await t.started(pod);
      for (const pod of pods) {
        const seen = await t.status(pod);
        expect(
          seen.uid === uidOf(pod) && seen.name === pod.metadata?.name && seen.containerStatuses.length === 1,
          () => `the status of ${pod.metadata?.name ?? ''} is ${seen.name}: ${shown(seen)}`,
        );
      }
    },
  },
];
