import { expect, test } from 'vitest';
import { seconds } from '../../../src/apimachinery/times.ts';
import { noFailures } from '../../../src/controllermanager/batch/job-backoff.ts';
import { isFinished } from '../../../src/controllermanager/batch/job-conditions.ts';
import { type JobPlan, planJob } from '../../../src/controllermanager/batch/job-decisions.ts';
import { trackingFinalizer } from '../../../src/controllermanager/batch/job-ends.ts';
import { indexOf } from '../../../src/controllermanager/batch/job-indexes.ts';
import { jobPod } from '../../../src/controllermanager/batch/job-pods.ts';
import { isActive } from '../../../src/controllermanager/workload/pods.ts';
import type { Job, Pod } from '../../../src/controllermanager/workload/types.ts';
import { template } from '../support.ts';

/** A Job and its pods without an API server: each step does what the plan says. */
class Story {
  job: Job & { spec: NonNullable<Job['spec']> };
  pods: Pod[] = [];
  now = Date.parse('2026-01-01T00:00:00Z');
  #failures = noFailures;
  #created = 0;

  constructor(spec: Partial<NonNullable<Job['spec']>>) {
    const restartPolicy = 'Never';
    this.job = {
      metadata: { name: 'work', namespace: 'default', uid: 'job' },
      spec: { parallelism: 1, template: template('work', 'image:1', { restartPolicy }), ...spec },
    };
  }

  step(): JobPlan {
    const plan = planJob(this.job, { pods: this.pods, now: this.now, failures: this.#failures });
    const leave = (pod: Pod): void => {
      pod.metadata = { ...pod.metadata, finalizers: [] };
    };
    plan.surplus.forEach(leave);
    for (const pod of [...plan.surplus, ...plan.end])
      pod.metadata = { ...pod.metadata, deletionTimestamp: seconds(this.now) };
    for (const one of plan.create) {
      const uid = `pod-${this.#created++}`;
      const pod = jobPod(this.job, one);
      this.pods.push({ ...pod, metadata: { ...pod.metadata, uid, name: uid } });
    }
    this.job = { ...this.job, status: plan.status };
    plan.release.forEach(leave);
    this.#failures = plan.failures;
    return plan;
  }

  /** Steps until nothing changes any more, or the Job has finished. */
  settle(): this {
    for (let left = 20; left > 0 && !isFinished(this.job); left--) {
      const before = JSON.stringify([this.job, this.pods]);
      this.step();
      if (JSON.stringify([this.job, this.pods]) === before) break;
    }
    return this;
  }

  spec(spec: Partial<NonNullable<Job['spec']>>): void {
    this.job = { ...this.job, spec: { ...this.job.spec, ...spec } };
  }

  end(pod: Pod | undefined, phase: 'Succeeded' | 'Failed', exitCode = phase === 'Failed' ? 1 : 0): this {
    if (!pod) throw new Error('no such pod');
    const state = { terminated: { exitCode, finishedAt: seconds(this.now) } };
    const main = { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state };
    pod.status = { phase, containerStatuses: [main] };
    return this;
  }

  /** Removes pods that are being deleted, as a kubelet does once they have stopped. */
  reap(): this {
    this.pods = this.pods.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
    return this;
  }

  get active(): Pod[] {
    return this.pods.filter(isActive);
  }

  get conditions(): string[] {
    return (this.job.status?.conditions ?? []).map(
      ({ type, status, reason }) => `${type}=${status} ${reason}`,
    );
  }
}

const at = ({ pods }: Story, index: number): Pod | undefined =>
  pods.filter(isActive).find((pod) => indexOf(pod) === index);

test('each index has failures of its own; its pods carry their count, and the Job fails at the end', () => {
  const story = new Story({
    ...{ completions: 3, parallelism: 3, completionMode: 'Indexed', backoffLimit: 2 ** 31 - 1 },
    backoffLimitPerIndex: 1,
  }).settle();
  expect(story.active.map(indexOf)).toEqual([0, 1, 2]);
  expect(story.job.status).toMatchObject({ active: 3, failedIndexes: '' });
  story.end(at(story, 1), 'Failed');
  const plan = story.step();
  expect(plan).toMatchObject({ create: [], release: [], after: 10_000 });
  story.now += 10_000;
  story.settle();
  const second = at(story, 1);
  expect(second?.metadata?.annotations).toMatchObject({ 'batch.kubernetes.io/job-index-failure-count': '1' });
  expect(story.job.status).toMatchObject({ active: 3, failed: 1 });
  story.end(second, 'Failed').settle();
  expect(story.job.status).toMatchObject({ active: 2, failed: 2, failedIndexes: '1' });
  story.end(at(story, 0), 'Succeeded').end(at(story, 2), 'Succeeded').settle();
  expect(story.conditions).toEqual(['FailureTarget=True FailedIndexes', 'Failed=True FailedIndexes']);
  expect(story.job.status).toMatchObject({ succeeded: 2, completedIndexes: '0,2', failedIndexes: '1' });
});

test('too many failed indexes end the Job at once; a policy fails an index by its exit code', () => {
  const story = new Story({
    ...{ completions: 4, parallelism: 4, completionMode: 'Indexed', backoffLimit: 2 ** 31 - 1 },
    ...{ backoffLimitPerIndex: 5, maxFailedIndexes: 1 },
    podFailurePolicy: {
      rules: [
        { action: 'FailIndex', onExitCodes: { operator: 'In', values: [42] } },
        { action: 'Ignore', onExitCodes: { operator: 'In', values: [43] } },
      ],
    },
  }).settle();
  story.end(at(story, 0), 'Failed', 42).end(at(story, 3), 'Failed', 43).settle();
  story.now += 10_000;
  story.settle();
  expect(story.job.status).toMatchObject({ active: 3, failedIndexes: '0', failed: 1 });
  expect(at(story, 3)?.metadata?.annotations).toMatchObject({
    'batch.kubernetes.io/job-index-failure-count': '0',
    'batch.kubernetes.io/job-index-ignored-failure-count': '1',
  });
  story.end(at(story, 1), 'Failed', 42).settle();
  expect(story.conditions).toEqual(['FailureTarget=True MaxFailedIndexesExceeded']);
  expect(story.job.status).toMatchObject({ active: 0, terminating: 2 });
  story.reap().settle();
  expect(story.conditions[1]).toBe('Failed=True MaxFailedIndexesExceeded');
});

test('a success policy ends the other pods, and the Job is complete when they are gone', () => {
  const story = new Story({
    ...{ completions: 3, parallelism: 3, completionMode: 'Indexed' },
    successPolicy: { rules: [{ succeededIndexes: '1-2', succeededCount: 1 }] },
  }).settle();
  story.end(at(story, 0), 'Succeeded').settle();
  expect(story.conditions).toEqual([]);
  story.end(at(story, 2), 'Succeeded').settle();
  expect(story.conditions).toEqual(['SuccessCriteriaMet=True SuccessPolicy']);
  expect(story.job.status).toMatchObject({ active: 0, terminating: 1, completedIndexes: '0,2' });
  expect(story.job.status?.completionTime).toBeUndefined();
  story.reap().settle();
  expect(story.conditions).toEqual(['SuccessCriteriaMet=True SuccessPolicy', 'Complete=True SuccessPolicy']);
  expect(story.job.status).toMatchObject({ succeeded: 2, completionTime: seconds(story.now) });
  expect(story.job.status?.failed).toBeUndefined();
});

test('a suspended Job deletes its pods, which are no failures; the deadline counts from its resumption', () => {
  const story = new Story({ completions: 2, parallelism: 2, activeDeadlineSeconds: 60 }).settle();
  story.spec({ suspend: true });
  story.settle();
  expect(story.pods.every(({ metadata }) => metadata?.finalizers?.length === 0)).toBe(true);
  expect(story.conditions).toEqual(['Suspended=True JobSuspended']);
  expect(story.job.status?.startTime).toBeUndefined();
  story.reap().settle();
  expect(story.job.status).toMatchObject({ active: 0, terminating: 0 });
  expect(story.job.status?.failed).toBeUndefined();
  story.now += 100_000;
  story.spec({ suspend: false });
  expect(story.step().after).toBe(60_000);
  expect(story.job.status).toMatchObject({ active: 2, startTime: seconds(story.now) });
  expect(story.conditions).toEqual(['Suspended=False JobResumed']);
  story.now += 60_000;
  story.settle();
  expect(story.conditions[1]).toBe('FailureTarget=True DeadlineExceeded');
  story.reap().settle();
  expect(story.conditions[2]).toBe('Failed=True DeadlineExceeded');
  expect(story.job.status?.failed).toBe(2);
});

test('a pod that is being deleted is replaced at once, or once it has failed', () => {
  for (const podReplacementPolicy of ['TerminatingOrFailed', 'Failed']) {
    const story = new Story({ completions: 1, podReplacementPolicy }).settle();
    const [pod] = story.pods;
    if (pod) pod.metadata = { ...pod.metadata, deletionTimestamp: seconds(story.now), uid: 'pod-0' };
    story.settle();
    story.now += 10_000;
    story.settle();
    const isAtOnce = podReplacementPolicy === 'TerminatingOrFailed';
    expect(story.active).toHaveLength(isAtOnce ? 1 : 0);
    expect(pod?.metadata?.finalizers).toEqual(isAtOnce ? [] : [trackingFinalizer]);
    story.end(pod, 'Failed').settle();
    story.now += 10_000;
    story.settle();
    expect(story.active).toHaveLength(1);
    expect(story.job.status?.failed).toBe(1);
  }
});

test('the back-off doubles with each failure and begins anew after a success', () => {
  const story = new Story({ completions: 3, backoffLimit: 9 }).settle();
  for (const pause of [10_000, 20_000, 40_000]) {
    story.end(story.active[0], 'Failed');
    expect(story.step().after).toBe(pause);
    story.now += pause;
    story.settle();
  }
  story.now += 1000;
  story.end(story.active[0], 'Succeeded').settle();
  expect(story.active).toHaveLength(1);
  story.now += 1000;
  story.end(story.active[0], 'Failed');
  expect(story.step().after).toBe(10_000);
});
