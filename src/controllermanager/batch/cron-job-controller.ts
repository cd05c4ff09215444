import { messageOf } from '../../base/errors.ts';
import { hasCause, isAlreadyExists, isNotFound } from '../../api/client.ts';
import { seconds } from '../../apimachinery/times.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { isControlledBy, nameOf, sameStatus, uidOf } from '../workload/objects.ts';
import type { CronJob } from '../workload/types.ts';
import { type CronPlan, planCronJob } from './cron-job-decisions.ts';

/** Starts the controller of CronJobs. */
export function addCronJobs(context: ControllerContext): void {
  const { manager, clock } = context;
  const { client } = manager;
  const events = context.recorder('cronjob-controller');
  controllerManagedBy(manager)
    .named('cronjob-controller')
    .for(kinds.CronJob)
    .owns(kinds.Job)
    .complete((key, { signal }: ReconcileContext) =>
      reconcile({ client, events }, key, { signal, now: clock.now() }),
    );
}

interface Deps {
  readonly client: Client;
  readonly events: EventRecorder;
}

async function reconcile(
  deps: Deps,
  key: Request,
  { signal, now }: { readonly signal: AbortSignal; readonly now: number },
): Promise<Result | undefined> {
  const { client, events } = deps;
  let cron: CronJob;
  try {
    cron = await client.get(kinds.CronJob, key, { signal });
  } catch (reason) {
    if (isNotFound(reason)) return undefined;
    throw reason;
  }
  const all = await client.list(kinds.Job, { namespace: key.namespace, signal });
  const plan = planCronJob(
    cron,
    all.filter((job) => isControlledBy(job, cron)),
    now,
  );
  for (const { type, reason, message } of plan.notes) events.event(cron, type, reason, message);
  await remove(deps, cron, plan, signal);
  const status = await create(deps, cron, plan, signal);
  if (!sameStatus(cron.status, status))
    await client.status.update(kinds.CronJob, { ...cron, status }, { signal });
  return plan.after === undefined ? undefined : { requeueAfter: plan.after };
}

async function remove(
  { client, events }: Deps,
  cron: CronJob,
  plan: CronPlan,
  signal: AbortSignal,
): Promise<void> {
  for (const job of plan.remove)
    try {
      const preconditions = { uid: uidOf(job) };
      await client.delete(kinds.Job, job, { propagationPolicy: 'Background', preconditions, signal });
      events.event(cron, 'Normal', 'SuccessfulDelete', `Deleted job ${nameOf(job)}`);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
}

/** Creates the Job that is due. Resolves to the status after it. */
async function create(
  { client, events }: Deps,
  cron: CronJob,
  { create: due, status }: CronPlan,
  signal: AbortSignal,
): Promise<NonNullable<CronJob['status']>> {
  if (!due) return status;
  const lastScheduleTime = seconds(due.scheduled);
  try {
    const job = await client.create(kinds.Job, due.job, { signal });
    events.event(cron, 'Normal', 'SuccessfulCreate', `Created job ${nameOf(job)}`);
    const reference = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      namespace: job.metadata?.namespace ?? '',
      name: nameOf(job),
      uid: uidOf(job),
      resourceVersion: job.metadata?.resourceVersion ?? '',
    };
    return { ...status, active: [...(status.active ?? []), reference], lastScheduleTime };
  } catch (reason) {
    // of an earlier attempt, whose status was not written
    if (isAlreadyExists(reason)) return { ...status, lastScheduleTime };
    if (hasCause(reason, 'NamespaceTerminating')) return status;
    events.event(cron, 'Warning', 'FailedCreate', `Error creating job: ${messageOf(reason)}`);
    throw reason;
  }
}
