import { messageOf } from '../../base/errors.ts';
import { uidOf } from '../../kube/names.ts';
import { type Clause, expect } from '../subject.ts';

const area = 'node';

export const node: readonly Clause[] = [
  {
    name: 'usage-of-what-runs',
    area,
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
  {
    name: 'no-usage-after-the-end',
    area,
    rule: 'R250',
    law: 'The usage has no containers of a pod that was killed.',
    needs: ({ provider }) => (provider.listUsage ? undefined : 'listUsage'),
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      await t.kill(pod);
      const usage = (await t.provider.listUsage?.())?.find(({ uid }) => uid === uidOf(pod));
      const names = usage?.containers.map(({ name }) => name) ?? [];
      expect(names.length === 0, () => `it has the usage of ${names.join(', ')}`);
    },
  },
  {
    name: 'healthy-while-pods-run',
    area,
    rule: 'R36',
    law: 'The health of the runtime has no problem while pods can be run.',
    needs: ({ provider }) => (provider.runtimeHealth ? undefined : 'runtimeHealth'),
    async check(t) {
      await t.started(t.behaving(t.pod(), {}));
      const signal = new AbortController().signal;
      const { runtimeError, networkError } = (await t.during(
        t.provider.runtimeHealth?.(signal) ?? Promise.resolve({}),
      )) as { readonly runtimeError?: string; readonly networkError?: string };
      const problem = runtimeError ?? networkError;
      expect(problem === undefined, () => `its problem is ${problem ?? ''}`);
    },
  },
  {
    name: 'pings-while-pods-run',
    area,
    rule: 'R258',
    law: 'A ping resolves while pods can be run.',
    needs: ({ provider }) => ('ping' in provider ? undefined : 'ping'),
    async check(t) {
      await t.started(t.behaving(t.pod(), {}));
      const fault = await t.during(
        t.nodeProvider.ping(new AbortController().signal).then(
          () => undefined,
          (reason: unknown) => messageOf(reason),
        ),
      );
      expect(fault === undefined, () => `it rejects: ${fault ?? ''}`);
    },
  },
];
