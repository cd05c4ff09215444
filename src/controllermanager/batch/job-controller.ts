import { isNotFound } from '../../api/client.ts';
import { enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { rawPatch } from '../../controller/client/patches.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { slowStart } from '../workload/batches.ts';
import { claim, selectorOf } from '../workload/claim.ts';
import { controllerOf, isDeleted, namespaceOf, sameStatus, uidOf } from '../workload/objects.ts';
import { PodControl } from '../workload/pod-control.ts';
import type { Job, Pod } from '../workload/types.ts';
import { type Failures, noFailures } from './job-backoff.ts';
import { conditionOf, isFinished } from './job-conditions.ts';
import { type JobPlan, planJob } from './job-decisions.ts';
import { isTracked, trackingFinalizer } from './job-ends.ts';
import { jobPod } from './job-pods.ts';

/** The controller that a Job without `managedBy` has, and what that field says for it. */
const ownName = 'kubernetes.io/job-controller';
const nameLabel = 'batch.kubernetes.io/job-name';

/** Starts the controller of Jobs. */
export function addJobs(context: ControllerContext): void {
  const reconciler = new JobReconciler(context);
  controllerManagedBy(context.manager)
    .named('job-controller')
    .for(kinds.Job)
    .owns(kinds.Pod)
    .watches(
      kinds.Pod,
      // a pod that a Job leaves behind still has the finalizer
      enqueueRequestsFromMapFunc((pod) => {
        const name = pod.metadata?.labels?.[nameLabel];
        if (!isTracked(pod) || controllerOf(pod) || name === undefined) return [];
        return [{ namespace: namespaceOf(pod), name }];
      }),
    )
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete((request, call) => reconciler.reconcile(request, call));
}

class JobReconciler {
  readonly #context: ControllerContext;
  readonly #client: Client;
  readonly #events: EventRecorder;
  readonly #pods: PodControl;
  /** Failures in a row, by the UID of the Job. */
  readonly #failures = new Map<string, Failures>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.manager.client;
    this.#events = context.recorder('job-controller');
    this.#pods = new PodControl(this.#client, this.#events);
  }

  async reconcile(request: Request, { signal }: ReconcileContext): Promise<Result | undefined> {
    const job = await this.#get(request, signal);
    if (job && (job.spec?.managedBy ?? ownName) !== ownName) return undefined;
    const { namespace } = request;
    const all = await this.#client.list(kinds.Pod, { namespace, signal });
    const left = all.filter((pod) => isLeft(pod, request, job));
    await this.#release(left, signal);
    if (!job || isDeleted(job)) return undefined;
    const pods = await claim(kinds.Pod, all, {
      client: this.#client,
      live: this.#context.manager.apiReader,
      owner: job,
      ownerKind: kinds.Job,
      selects: selectorOf(job.spec?.selector),
      finalizer: trackingFinalizer,
      signal,
    });
    if (isFinished(job)) {
      this.#failures.delete(uidOf(job));
      await this.#release(pods.filter(isTracked), signal);
      return undefined;
    }
    return this.#act(job, pods, signal);
  }

  async #get(key: Request, signal: AbortSignal): Promise<Job | undefined> {
    return this.#client.get(kinds.Job, key, { signal }).catch(ignoreNotFound);
  }

  async #act(job: Job, pods: readonly Pod[], signal: AbortSignal): Promise<Result | undefined> {
    const now = this.#context.clock.now();
    const failures = this.#failures.get(uidOf(job)) ?? noFailures;
    const plan = planJob(job, { pods, now, failures });
    await this.#release(plan.surplus, signal);
    for (const pod of [...plan.surplus, ...plan.end]) await this.#pods.delete(job, pod, signal);
    const created = await slowStart(plan.create.length, (at) =>
      this.#pods.create(job, jobPod(job, plan.create[at] ?? {}), signal),
    );
    if ('error' in created) throw created.error;
    await this.#write(job, plan, signal);
    this.#failures.set(uidOf(job), plan.failures);
    await this.#release(plan.release, signal);
    return plan.after === undefined ? undefined : { requeueAfter: plan.after };
  }

  async #write(job: Job, { status }: JobPlan, signal: AbortSignal): Promise<void> {
    if (sameStatus(job.status, status)) return;
    const written = await this.#client.status.update(kinds.Job, { ...job, status }, { signal });
    for (const { type, reason, message } of newsOf(job, written))
      this.#events.event(job, type, reason, message);
  }

  /** Removes the finalizers of pods whose end is counted. */
  async #release(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    for (const pod of pods) {
      const finalizers = (pod.metadata?.finalizers ?? []).filter((one) => one !== trackingFinalizer);
      const body = { metadata: { uid: uidOf(pod), finalizers: finalizers.length > 0 ? finalizers : null } };
      await ignoreMissing(this.#client.patch(kinds.Pod, pod, rawPatch('merge', body), { signal }));
    }
  }
}

/** Returns the Events of a change of a Job's conditions. */
function newsOf(
  before: Job,
  after: Job,
): readonly { type: 'Normal' | 'Warning'; reason: string; message: string }[] {
  const begins = (type: string): boolean => !!conditionOf(after, type) && !conditionOf(before, type);
  const failed = conditionOf(after, 'Failed');
  const { succeeded = 0 } = after.status ?? {};
  const news: [boolean, 'Normal' | 'Warning', string, string][] = [
    [begins('Suspended'), 'Normal', 'Suspended', 'Job suspended'],
    [
      !!conditionOf(before, 'Suspended') && !conditionOf(after, 'Suspended'),
      'Normal',
      'Resumed',
      'Job resumed',
    ],
    [
      begins('Complete') && succeeded > (after.spec?.completions ?? Infinity),
      'Warning',
      'TooManySucceededPods',
      'Too many succeeded pods running after completion count reached',
    ],
    [begins('Complete'), 'Normal', 'Completed', 'Job completed'],
    [begins('Failed'), 'Warning', failed?.reason ?? '', failed?.message ?? ''],
  ];
  return news.filter(([isNews]) => isNews).map(([, type, reason, message]) => ({ type, reason, message }));
}

/** True for a pod that still has the finalizer, but not the Job which it was created for, or one that is being deleted. */
function isLeft(pod: Pod, { name }: Request, job: Job | undefined): boolean {
  if (!isTracked(pod)) return false;
  const owner = controllerOf(pod);
  if (!owner)
    return pod.metadata?.labels?.[nameLabel] === name && (!job || isDeleted(job) || isFinished(job));
  if (owner.kind !== 'Job' || owner.name !== name) return false;
  return !job || owner.uid !== uidOf(job) || isDeleted(job);
}

async function ignoreMissing(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
}
