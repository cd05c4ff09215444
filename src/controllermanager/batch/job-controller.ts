import { messageOf } from '../../base/errors.ts';
import { hasCause, isNotFound } from '../../api/client.ts';
import { sameJson } from '../../apimachinery/json.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { rawPatch } from '../../controller/client/patches.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { burst, slowStart } from '../workload/batches.ts';
import { claim, selectorOf } from '../workload/claim.ts';
import { controllerOf, isDeleted, nameOf, podOf, uidOf } from '../workload/objects.ts';
import type { Job, Pod } from '../workload/types.ts';
import {
  conditionOf,
  type Failures,
  isFinished,
  isTracked,
  type JobPlan,
  planJob,
  trackingFinalizer,
} from './job-decisions.ts';
import { indexAnnotation } from './job-indexes.ts';

/** Starts the controller of Jobs. */
export function addJobs(context: ControllerContext): void {
  const reconciler = new JobReconciler(context);
  controllerManagedBy(context.manager)
    .named('job-controller')
    .for(kinds.Job)
    .owns(kinds.Pod)
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete((request, call) => reconciler.reconcile(request, call));
}

interface Record extends Failures {
  /** UIDs of the pods that are counted. */
  readonly seen: ReadonlySet<string>;
}

const noFailures: Record = { count: 0, last: 0, seen: new Set() };

class JobReconciler {
  readonly #context: ControllerContext;
  readonly #client: Client;
  readonly #events: EventRecorder;
  /** Failures in a row, by the UID of the Job. */
  readonly #failures = new Map<string, Record>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.manager.client;
    this.#events = context.recorder('job-controller');
  }

  async reconcile(request: Request, { signal }: ReconcileContext): Promise<Result | undefined> {
    const job = await this.#get(request, signal);
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
    try {
      return await this.#client.get(kinds.Job, key, { signal });
    } catch (reason) {
      if (isNotFound(reason)) return undefined;
      throw reason;
    }
  }

  async #act(job: Job, pods: readonly Pod[], signal: AbortSignal): Promise<Result | undefined> {
    const now = this.#context.clock.now();
    const failures = this.#recordEnds(job, pods, now);
    const plan = planJob(job, { pods, now, failures });
    await this.#removeAll(job, plan, signal);
    const written = await this.#write(job, plan, signal);
    await this.#release(plan.release, signal);
    if (plan.create > 0) await this.#create(written, plan, signal);
    return plan.after === undefined ? undefined : { requeueAfter: plan.after };
  }

  /** Counts failures in a row by the pods that have ended, each once. */
  #recordEnds(job: Job, pods: readonly Pod[], now: number): Failures {
    let failures = this.#failures.get(uidOf(job)) ?? noFailures;
    for (const pod of pods.filter(isTracked)) {
      const uid = uidOf(pod);
      if (failures.seen.has(uid)) continue;
      const seen = new Set([...failures.seen, uid]);
      if (pod.status?.phase === 'Succeeded') failures = { count: 0, last: 0, seen };
      else if (pod.status?.phase === 'Failed') failures = { count: failures.count + 1, last: now, seen };
    }
    this.#failures.set(uidOf(job), failures);
    return failures;
  }

  async #write(job: Job, { status }: JobPlan, signal: AbortSignal): Promise<Job> {
    if (sameJson(job.status ?? {}, status)) return job;
    const written = await this.#client.status.update(kinds.Job, { ...job, status }, { signal });
    for (const [type, event] of [
      ['Complete', 'Completed'],
      ['Failed', ''],
      ['Suspended', 'Suspended'],
    ] as const) {
      const condition = conditionOf(written, type);
      if (!condition || conditionOf(job, type)) continue;
      const level = type === 'Failed' ? 'Warning' : 'Normal';
      const message = type === 'Complete' ? 'Job completed' : (condition.message ?? '');
      this.#events.event(job, level, event || (condition.reason ?? ''), message);
    }
    return written;
  }

  /** Removes the finalizers of pods whose end is counted. */
  async #release(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    for (const pod of pods) {
      const finalizers = (pod.metadata?.finalizers ?? []).filter((one) => one !== trackingFinalizer);
      const body = { metadata: { uid: uidOf(pod), finalizers: finalizers.length > 0 ? finalizers : null } };
      await ignoreMissing(this.#client.patch(kinds.Pod, pod, rawPatch('merge', body), { signal }));
    }
  }

  async #removeAll(job: Job, { remove }: JobPlan, signal: AbortSignal): Promise<void> {
    for (const pod of remove) {
      const preconditions = { uid: uidOf(pod) };
      await ignoreMissing(this.#client.delete(kinds.Pod, pod, { preconditions, signal }));
      this.#events.event(job, 'Normal', 'SuccessfulDelete', `Deleted pod: ${nameOf(pod)}`);
    }
  }

  async #create(job: Job, { create, indexes }: JobPlan, signal: AbortSignal): Promise<void> {
    const { error } = await slowStart(Math.min(create, burst), async (at) => {
      try {
        const pod = await this.#client.create(kinds.Pod, jobPod(job, indexes[at]), { signal });
        this.#events.event(job, 'Normal', 'SuccessfulCreate', `Created pod: ${nameOf(pod)}`);
      } catch (reason) {
        if (hasCause(reason, 'NamespaceTerminating')) return;
        this.#events.event(job, 'Warning', 'FailedCreate', `Error creating: ${messageOf(reason)}`);
        throw reason;
      }
    });
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- it is what a call was rejected with
    if (error !== undefined) throw error;
  }
}

/** True for a pod that still has the finalizer of a Job of this name which does not exist any more, or is being deleted. */
function isLeft(pod: Pod, { name }: Request, job: Job | undefined): boolean {
  const owner = controllerOf(pod);
  if (!isTracked(pod)) return false;
  if (owner?.kind !== 'Job' || owner.name !== name) return false;
  return !job || owner.uid !== uidOf(job) || isDeleted(job);
}

/** Returns a pod of a Job; of an indexed one with its index in name, label, annotation and environment. */
export function jobPod(job: Job, index: number | undefined): Pod {
  const pod = podOf(job.spec?.template, job, kinds.Job);
  const finalizers = [...(pod.metadata?.finalizers ?? []), trackingFinalizer];
  if (index === undefined)
    return { ...pod, metadata: { ...pod.metadata, finalizers, generateName: `${nameOf(job)}-` } };
  const mark = { [indexAnnotation]: String(index) };
  const variable = {
    name: 'JOB_COMPLETION_INDEX',
    valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.annotations['${indexAnnotation}']` } },
  };
  const withIndex = <C extends { env?: { name: string }[] }>(containers: readonly C[]): C[] =>
    containers.map((one) =>
      one.env?.some(({ name }) => name === variable.name)
        ? one
        : { ...one, env: [...(one.env ?? []), variable] },
    );
  const { spec } = pod;
  return {
    metadata: {
      ...pod.metadata,
      finalizers,
      generateName: `${nameOf(job)}-${index}-`,
      labels: { ...pod.metadata?.labels, ...mark },
      annotations: { ...pod.metadata?.annotations, ...mark },
    },
    ...(spec && {
      spec: {
        ...spec,
        hostname: `${nameOf(job)}-${index}`,
        containers: withIndex(spec.containers),
        ...(spec.initContainers && { initContainers: withIndex(spec.initContainers) }),
      },
    }),
  };
}

async function ignoreMissing(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
}
