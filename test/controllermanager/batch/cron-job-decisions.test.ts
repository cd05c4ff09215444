import { expect, test } from 'vitest';
import { planCronJob } from '../../../src/controllermanager/batch/cron-job-decisions.ts';
import type { CronJob, Job } from '../../../src/controllermanager/workload/types.ts';
import { template } from '../support.ts';

const now = Date.parse('2026-01-01T00:05:30Z');
const cron = (spec: Partial<NonNullable<CronJob['spec']>> = {}, status: object = {}): CronJob => ({
  metadata: { namespace: 'default', name: 'tick', uid: 'u', creationTimestamp: '2026-01-01T00:04:10Z' },
  spec: {
    schedule: '* * * * *',
    jobTemplate: { spec: { template: template('tick') } },
    successfulJobsHistoryLimit: 1,
    failedJobsHistoryLimit: 1,
    ...spec,
  },
  status,
});
const job = (name: string, type?: string): Job => ({
  metadata: { namespace: 'default', name, uid: name, creationTimestamp: '2026-01-01T00:03:00Z' },
  ...(type !== undefined && { status: { conditions: [{ type, status: 'True' }] } }),
});

test('the latest missed time gets a Job, named after its minute, and the next is waited for', () => {
  const { create, after } = planCronJob(cron(), [], now);
  expect(create?.scheduled).toBe(Date.parse('2026-01-01T00:05:00Z'));
  expect(create?.job.metadata).toMatchObject({
    name: `tick-${Date.parse('2026-01-01T00:05:00Z') / 60_000}`,
    annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T00:05:00Z' },
  });
  expect(after).toBe(30_000);
  const done = cron({}, { lastScheduleTime: '2026-01-01T00:05:00Z' });
  expect(planCronJob(done, [], now).create).toBeUndefined();
  expect(planCronJob(cron({ suspend: true }), [], now)).not.toHaveProperty('create');
  expect(planCronJob(cron({ startingDeadlineSeconds: 10 }), [], now).create).toBeUndefined();
});

test('a running Job forbids the next one, or is replaced', () => {
  const active = [job('tick-1')];
  expect(planCronJob(cron({ concurrencyPolicy: 'Allow' }), active, now).create).toBeDefined();
  const forbidden = planCronJob(cron({ concurrencyPolicy: 'Forbid' }), active, now);
  expect(forbidden.create).toBeUndefined();
  expect(forbidden.notes).toMatchObject([{ reason: 'JobAlreadyActive' }]);
  const replaced = planCronJob(cron({ concurrencyPolicy: 'Replace' }), active, now);
  expect([replaced.remove.length, replaced.create !== undefined]).toEqual([1, true]);
});

test('finished Jobs beyond the history go', () => {
  const jobs = [job('a', 'Complete'), job('b', 'Complete'), job('c', 'Failed'), job('d')];
  expect(planCronJob(cron(), jobs, now).remove.map(({ metadata }) => metadata?.name)).toEqual(['a']);
});
