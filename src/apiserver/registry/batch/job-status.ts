import { duplicate, type Faults, invalid, omitted, required } from '../../../kube/validation/field-error.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  statusOf,
  textOf,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { nonNegatives, numberAt } from '../validation/value-rules.ts';
import { countIndexes, sharedIndex } from './index-intervals.ts';

const has = (job: JsonObject, type: string, status = 'True'): boolean =>
  objectsAt(statusOf(job), 'conditions').some((one) => one['type'] === type && one['status'] === status);
const isFinished = (job: JsonObject): boolean => has(job, 'Complete') || has(job, 'Failed');
const indexed = (job: JsonObject): boolean => specOf(job)['completionMode'] === 'Indexed';

/** A status update: both versions, and what changed. */
interface Change {
  readonly job: JsonObject;
  readonly old: JsonObject;
  /** True when a condition became or ceased to be true. */
  readonly turned: (type: string) => boolean;
  readonly finished: boolean;
  readonly moved: (key: string) => boolean;
}

const changeOf = (job: JsonObject, old: JsonObject): Change => ({
  job,
  old,
  turned: (type) => has(job, type) !== has(old, type),
  finished: isFinished(job) !== isFinished(old),
  moved: (key) => !sameJson(ownMember(statusOf(job), key), ownMember(statusOf(old), key)),
});

const conditions = (why: string): ReturnType<typeof invalid> => invalid('status.conditions', omitted, why);

/** Validates the UIDs of pods that are not counted yet. */
function* uncounted(status: JsonObject): Faults {
  const seen = new Set<string>();
  const pods = objectAt(status, 'uncountedTerminatedPods');
  for (const key of ['succeeded', 'failed'])
    for (const [i, uid] of listAt(pods, key).map(textOf).entries()) {
      const field = `status.uncountedTerminatedPods.${key}[${i}]`;
      if (uid === '') yield invalid(field, uid, 'must not be empty');
      else if (seen.has(uid)) yield duplicate(field, uid);
      seen.add(uid);
    }
}

function* endings({ job, turned }: Change): Faults {
  const complete = has(job, 'Complete');
  if ((turned('Complete') || turned('Failed')) && complete && has(job, 'Failed'))
    yield conditions('cannot set Complete=True and Failed=true conditions');
  if ((turned('Complete') || turned('FailureTarget')) && complete && has(job, 'FailureTarget'))
    yield conditions('cannot set Complete=True and FailureTarget=true conditions');
}

function* times({ job, turned, moved }: Change): Faults {
  const { startTime, completionTime } = statusOf(job);
  const complete = has(job, 'Complete');
  const field = 'status.completionTime';
  if (turned('Complete') || moved('completionTime')) {
    if (completionTime !== undefined && !complete)
      yield invalid(
        field,
        completionTime,
        'cannot set completionTime when there is no Complete=True condition',
      );
    if (completionTime === undefined && complete)
      yield required(field, 'completionTime is required for Complete jobs');
  }
  const timed = typeof startTime === 'string' && typeof completionTime === 'string';
  if (
    (moved('startTime') || moved('completionTime')) &&
    timed &&
    Date.parse(completionTime) < Date.parse(startTime)
  )
    yield invalid(field, completionTime, 'must be equal to or after `startTime`');
}

function* reasons({ job, turned, moved }: Change): Faults {
  if ((turned('Failed') || moved('failedIndexes')) && has(job, 'Failed') && !has(job, 'FailureTarget'))
    yield conditions('cannot set Failed=True condition without the FailureTarget=true condition');
  if (
    (turned('Complete') || turned('SuccessCriteriaMet')) &&
    has(job, 'Complete') &&
    !has(job, 'SuccessCriteriaMet')
  )
    yield conditions('cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
}

/** Validates that a finished job has no running pods. */
function* leftovers({ job, finished, moved }: Change): Faults {
  if (!isFinished(job)) return;
  const status = statusOf(job);
  const active = numberAt(status, 'active', 0);
  if ((finished || moved('active')) && active > 0)
    yield invalid('status.active', active, 'active>0 is invalid for finished job');
  if ((finished || moved('startTime')) && !neverRan(job) && status['startTime'] === undefined)
    yield required('status.startTime', 'startTime is required for finished job');
  yield* uncountedLeft(job, finished || moved('uncountedTerminatedPods'));
}

/** True for a suspended job with nothing to complete. */
const neverRan = (job: JsonObject): boolean =>
  specOf(job)['suspend'] === true && specOf(job)['completions'] === 0;

function* uncountedLeft(job: JsonObject, isChecked: boolean): Faults {
  const pods = objectAt(statusOf(job), 'uncountedTerminatedPods');
  const [failed, succeeded] = [listAt(pods, 'failed'), listAt(pods, 'succeeded')];
  if (isChecked && failed.length + succeeded.length > 0)
    yield invalid(
      'status.uncountedTerminatedPods',
      { Succeeded: pods['succeeded'] ?? null, Failed: pods['failed'] ?? null },
      'must be empty for finished job',
    );
}

function* parsedIndexes(key: string, text: string, completions: number): Faults {
  const { why } = countIndexes(text, completions);
  if (why !== undefined) yield invalid(`status.${key}`, text, `error parsing ${key}: ${why}`);
}

function* indexes({ job, moved }: Change): Faults {
  const [status, spec] = [statusOf(job), specOf(job)];
  const completions = numberAt(spec, 'completions');
  const completed = textOf(status['completedIndexes']);
  const failed = status['failedIndexes'];
  const perIndex = spec['backoffLimitPerIndex'] !== undefined;
  const [first, second] = [moved('completedIndexes'), moved('failedIndexes')];
  if (completions !== undefined) {
    if (first) yield* parsedIndexes('completedIndexes', completed, completions);
    if (second && perIndex) yield* parsedIndexes('failedIndexes', textOf(failed), completions);
  }
  if (first && completed !== '' && !indexed(job))
    yield invalid(
      'status.completedIndexes',
      completed,
      'cannot set non-empty completedIndexes when non-indexed completion mode',
    );
  if (second && !perIndex && failed !== undefined)
    yield invalid(
      'status.failedIndexes',
      failed,
      'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
    );
}

function* overlaps({ job, moved }: Change): Faults {
  const { completedIndexes, failedIndexes } = statusOf(job);
  const completions = numberAt(specOf(job), 'completions');
  if (!(moved('failedIndexes') || moved('completedIndexes')) || completions === undefined) return;
  const [completed, failed] = [textOf(completedIndexes), textOf(failedIndexes)];
  if (completed === '' || failed === '') return;
  const at = sharedIndex(completed, failed, completions);
  if (at !== undefined)
    yield invalid(
      'status.failedIndexes',
      failed,
      `failedIndexes and completedIndexes overlap at index: ${at}`,
    );
}

function* pods({ job, finished, moved }: Change): Faults {
  const status = statusOf(job);
  const [terminating, ready] = [numberAt(status, 'terminating', 0), numberAt(status, 'ready', 0)];
  if ((finished || moved('terminating')) && terminating > 0 && isFinished(job))
    yield invalid('status.terminating', terminating, 'terminating>0 is invalid for finished job');
  if ((moved('ready') || moved('active')) && ready > numberAt(status, 'active', 0))
    yield invalid('status.ready', ready, 'cannot set more ready pods than active');
}

function* successes({ job }: Change): Faults {
  const met = has(job, 'SuccessCriteriaMet');
  if (met && has(job, 'Failed'))
    yield conditions('cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (met && has(job, 'FailureTarget'))
    yield conditions('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (isObject(specOf(job)['successPolicy']) && !met && has(job, 'Complete'))
    yield conditions('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True');
}

/** Validates that a status does not go back. */
function* regressions({ job, old }: Change): Faults {
  const [now, before] = [statusOf(job), statusOf(old)];
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (has(old, type) && !has(job, type))
      yield conditions(`cannot disable the terminal ${type}=True condition`);
  const count = (status: JsonObject, key: string): number => numberAt(status, key, 0);
  if (count(now, 'failed') < count(before, 'failed'))
    yield invalid('status.failed', count(now, 'failed'), 'cannot decrease the failed counter');
  const { completions, parallelism } = specOf(job);
  const scalable = indexed(job) && completions === parallelism;
  if (!scalable && count(now, 'succeeded') < count(before, 'succeeded'))
    yield invalid('status.succeeded', count(now, 'succeeded'), 'cannot decrease the succeeded counter');
}

function* setTimes({ job, old, moved }: Change): Faults {
  const [now, before] = [statusOf(job), statusOf(old)];
  const both = now['completionTime'] !== undefined && before['completionTime'] !== undefined;
  if (both && moved('completionTime'))
    yield invalid('status.completionTime', now['completionTime'], 'field is immutable');
  const resuming = has(old, 'Suspended') && has(job, 'Suspended', 'False');
  if (before['startTime'] !== undefined && moved('startTime') && !resuming && specOf(job)['suspend'] !== true)
    yield invalid(
      'status.startTime',
      now['startTime'] ?? null,
      'field is immutable for unsuspended job once set',
    );
}

function* criteria({ job, old }: Change): Faults {
  const [met, was] = [has(job, 'SuccessCriteriaMet'), has(old, 'SuccessCriteriaMet')];
  if (was && !met) yield conditions('cannot disable the SuccessCriteriaMet=True condition');
  if (has(old, 'Complete') && !was && met)
    yield conditions('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions');
}

/**
 * Validates the status of a job; most rules apply to what changed. Follows Kubernetes `ValidateJobStatusUpdate`
 * (pkg/apis/batch/validation, v1.36).
 */
export function* jobStatusFaults(job: JsonObject, old: JsonObject): Faults {
  const change = changeOf(job, old);
  const status = statusOf(job);
  yield* nonNegatives('status', status, 'active', 'succeeded', 'failed', 'ready', 'terminating');
  yield* uncounted(status);
  const rules = [
    endings,
    times,
    reasons,
    leftovers,
    indexes,
    overlaps,
    pods,
    successes,
    regressions,
    setTimes,
    criteria,
  ];
  for (const rule of rules) yield* rule(change);
}
