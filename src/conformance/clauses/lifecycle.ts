import { uidOf } from '../../kube/names.ts';
import { type Clause, expect, shown } from '../subject.ts';

const area = 'lifecycle';

export const lifecycle: readonly Clause[] = [
  {
    name: 'starts-every-container',
    area,
    rule: 'R175',
    law: 'After a sync, every container of the pod runs.',
    async check(t) {
      const containers = ['main', 'second'].map((name) => t.container(name));
      let pod = t.pod({ containers });
      for (const { name } of containers) pod = t.behaving(pod, {}, name);
      await t.sync(pod);
      for (const { name } of containers) await t.reach(pod, 'running', name);
    },
  },
  {
    name: 'starts-once',
    area,
    rule: 'R138',
    law: 'Another sync of an unchanged pod starts nothing.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const before = await t.newest(pod);
      await t.sync(pod);
      await t.sync(pod);
      const status = await t.status(pod);
      expect(status.containerStatuses.length === 1, () => `two more syncs made it: ${shown(status)}`);
      expect(
        status.containerStatuses[0]?.id === before?.id,
        () => 'the container has another ID after a sync',
      );
    },
  },
  {
    name: 'lists-its-pods',
    area,
    rule: 'R68',
    law: 'The listing has every pod that runs, by UID, name and namespace.',
    async check(t) {
      const pods = [t.pod({}, 'a'), t.pod({}, 'b')].map((pod) => t.behaving(pod, {}));
      for (const pod of pods) await t.started(pod);
      for (const pod of pods) {
        const listed = await t.listed(pod);
        expect(listed !== undefined, () => `the listing lacks pod ${pod.metadata?.name ?? ''}`);
        expect(
          listed.name === pod.metadata?.name && listed.namespace === 'default',
          () => `the listing calls the pod ${listed.namespace}/${listed.name}`,
        );
      }
    },
  },
  {
    name: 'listing-and-status-agree',
    area,
    rule: 'R229',
    law: 'The listing shows the containers that the status shows, in the same states.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const listed = (await t.listed(pod))?.containers ?? [];
      const status = (await t.status(pod)).containerStatuses;
      const lines = (all: readonly { readonly id: string; readonly state: string }[]): string =>
        all
          .map(({ id, state }) => `${id} ${state}`)
          .sort()
          .join(', ');
      expect(lines(listed) === lines(status), () => `listed: ${lines(listed)}; status: ${lines(status)}`);
    },
  },
  {
    name: 'keeps-pods-of-one-name-apart',
    area,
    rule: 'R107',
    law: 'Two pods of one name are two pods: killing the first leaves the second alone.',
    needs: ({ oneByName }) =>
      oneByName === true ? 'pods by UID: the backend knows pods by name' : undefined,
    async check(t) {
      const [first, second] = [t.pod({}, 'twin'), t.pod({}, 'twin')].map((pod) => t.behaving(pod, {}));
      if (!first || !second) return;
      await t.started(first);
      await t.started(second);
      await t.kill(first);
      await t.pass(500);
      const state = (await t.newest(second))?.state;
      expect(
        state === 'running',
        () => `the second pod's container is ${state ?? 'absent'} when the first is killed`,
      );
    },
  },
  {
    name: 'unknown-pod-is-empty',
    area,
    rule: 'R112',
    law: "The status of a pod that was never started has the pod's identity and no containers; it is no error.",
    async check(t) {
      const pod = t.pod();
      const status = await t.status(pod);
      expect(status.uid === uidOf(pod), () => `the status has the UID ${status.uid}`);
      expect(status.containerStatuses.length === 0, () => `the status has ${shown(status)}`);
    },
  },
  {
    name: 'container-ids-name-the-provider',
    area,
    rule: 'R229',
    law: 'Container IDs have the form TYPE://ID, and no two containers share one.',
    async check(t) {
      const pods = [t.pod({}, 'a'), t.pod({}, 'b')].map((pod) => t.behaving(pod, {}));
      const ids: string[] = [];
      for (const pod of pods) {
        await t.started(pod);
        ids.push((await t.newest(pod))?.id ?? '');
      }
      expect(
        ids.every((id) => /^[a-z0-9.-]+:\/\/.+/.test(id)),
        () => `the IDs are ${ids.join(' and ')}`,
      );
      expect(new Set(ids).size === ids.length, () => `two containers have the ID ${ids[0] ?? ''}`);
    },
  },
  {
    name: 'address-while-it-runs',
    area,
    rule: 'R227',
    law: 'A pod that runs has an address.',
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const { ips } = await t.status(pod);
      expect(ips.length > 0, () => 'the status has no address');
    },
  },
  {
    name: 'order-of-syncs-is-free',
    area,
    rule: 'R83',
    law: 'Pods that are synced at the same time all run, each with its own containers.',
    async check(t) {
      const pods = Array.from({ length: 8 }, (_, index) => t.behaving(t.pod({}, `p-${index}`), {}));
      await Promise.all(pods.map((pod) => t.sync(pod)));
      for (const pod of pods) await t.reach(pod, 'running');
      const ids = await Promise.all(pods.map(async (pod) => (await t.newest(pod))?.id));
      const statuses = await Promise.all(pods.map((pod) => t.status(pod)));
      expect(
        statuses.every(({ containerStatuses }) => containerStatuses.length === 1),
        () => `the pods have ${statuses.map(shown).join(' / ')}`,
      );
      expect(ids.every(Boolean), () => `the pods' containers are ${ids.join(', ')}`);
    },
  },
];
