import { afterEach, expect, test } from 'vitest';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import type { Client } from '../../../src/controller/types.ts';
import type { Job, Pod } from '../../../src/controllermanager/workload/types.ts';
import { cluster, endAll, eventually, podsOf, running, template } from '../support.ts';

afterEach(endAll);

const job = (spec: Partial<NonNullable<Job['spec']>> = {}): Job => ({
  metadata: { namespace: 'default', name: 'work' },
  spec: { template: template('work', 'image:1', { restartPolicy: 'Never' }), ...spec },
});
const get = (client: Client): Promise<Job> => client.get(kinds.Job, { namespace: 'default', name: 'work' });
const reason = ({ status }: Job, type: string): string | undefined =>
  status?.conditions?.find((one) => one.type === type && one.status === 'True')?.reason;
const ended = (phase: string, exitCode: number): NonNullable<Pod['status']> => ({
  ...running(),
  phase,
  conditions: [{ type: 'Ready', status: 'False' }],
  containerStatuses: [
    {
      ...{ name: 'main', image: '', imageID: '', ready: false, restartCount: 0 },
      state: { terminated: { exitCode } },
    },
  ],
});

test('an indexed Job runs each index once and is complete; its pods lose the finalizer, and the TTL removes it', async () => {
  const world = await cluster();
  const { client } = world;
  world.behaviour = { start: () => ended('Succeeded', 0) };
  await client.create(
    kinds.Job,
    job({ completions: 3, parallelism: 2, completionMode: 'Indexed', ttlSecondsAfterFinished: 2 }),
  );
  const done = await eventually(
    () => get(client),
    (one) => reason(one, 'Complete') !== undefined,
  );
  expect(done.status).toMatchObject({ succeeded: 3, completedIndexes: '0-2' });
  expect(reason(done, 'SuccessCriteriaMet')).toBe('CompletionsReached');
  const pods = await podsOf(client, 'work');
  expect(pods.map(({ spec }) => spec?.hostname).sort()).toEqual(['work-0', 'work-1', 'work-2']);
  expect(pods.every(({ metadata }) => metadata?.finalizers === undefined)).toBe(true);
  await eventually(
    () => podsOf(client, 'work'),
    (all) => all.length === 0,
  );
});

test('failures count against the limit, unless a policy says otherwise', async () => {
  const world = await cluster();
  const { client } = world;
  world.behaviour = { start: () => ended('Failed', 3) };
  await client.create(kinds.Job, job({ backoffLimit: 0 }));
  const failed = await eventually(
    () => get(client),
    (one) => reason(one, 'Failed') !== undefined,
  );
  expect(reason(failed, 'Failed')).toBe('BackoffLimitExceeded');
  expect(failed.status?.failed).toBe(1);
  await client.delete(kinds.Job, failed, { propagationPolicy: 'Background' });
  await eventually(
    () => podsOf(client, 'work'),
    (all) => all.length === 0,
  );
  const rules = [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [3] } }];
  await client.create(kinds.Job, job({ podFailurePolicy: { rules } }));
  const judged = await eventually(
    () => get(client),
    (one) => reason(one, 'Failed') !== undefined,
  );
  expect(reason(judged, 'Failed')).toBe('PodFailurePolicy');
});

test('a suspended Job has no pods; resumed it has, and a deadline ends it', async () => {
  const { client } = await cluster();
  await client.create(kinds.Job, job({ suspend: true, parallelism: 2, completions: 2 }));
  await eventually(
    () => get(client),
    (one) => reason(one, 'Suspended') === 'JobSuspended',
  );
  expect(await podsOf(client, 'work')).toEqual([]);
  await client.patch(kinds.Job, job(), rawPatch('merge', { spec: { suspend: false } }));
  await eventually(
    () => get(client),
    ({ status }) => status?.ready === 2,
  );
  await client.patch(kinds.Job, job(), rawPatch('merge', { spec: { activeDeadlineSeconds: 1 } }));
  const late = await eventually(
    () => get(client),
    (one) => reason(one, 'Failed') !== undefined,
  );
  expect(reason(late, 'Failed')).toBe('DeadlineExceeded');
  expect(late.status?.active ?? 0).toBe(0);
});
