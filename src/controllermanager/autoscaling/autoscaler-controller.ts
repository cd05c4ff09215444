import { isNotFound } from '../../api/client.ts';
import { sameJson } from '../../apimachinery/json.ts';
import { messageOf } from '../../base/errors.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { kinds } from '../../controller/kinds.ts';
import { predicateFuncs } from '../../controller/predicate/predicate.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Kind, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { kindByName } from '../workload/kind-by-name.ts';
import { nameOf, namespaceOf } from '../workload/objects.ts';
import { evaluateMetric, type MetricFailure, type MetricResult, tolerancesOf } from './autoscaler-metrics.ts';
import type { Autoscaler, MetricStatus, Scale } from './autoscaler-types.ts';
import { Draft } from './draft.ts';
import { noPast, normalize, type ScalingPast, withChange } from './scaling-limits.ts';

/** The time between two looks at an autoscaler (`--horizontal-pod-autoscaler-sync-period`), ms. */
const syncMs = 15_000;

/** Starts the controller of HorizontalPodAutoscalers. */
export function addAutoscalers(context: ControllerContext): void {
  const reconciler = new AutoscalerReconciler(context);
  controllerManagedBy(context.manager)
    .named('horizontal-pod-autoscaler-controller')
    .for(kinds.HorizontalPodAutoscaler, {
      // its own writes of the status are no news
      predicates: [
        predicateFuncs<Autoscaler>({
          update: ({ objectOld, objectNew }) => !sameJson(objectOld.spec, objectNew.spec),
        }),
      ],
    })
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete((request, call) => reconciler.reconcile(request, call));
}

interface Target {
  readonly kind: Kind;
  readonly scale: Scale;
}

interface Step {
  readonly draft: Draft;
  readonly signal: AbortSignal;
  readonly now: number;
}

/** What the metrics call for. */
interface Evaluation {
  readonly replicas: number;
  readonly name: string;
  readonly metrics: readonly MetricStatus[];
}

const keyOf = (autoscaler: Autoscaler): string => `${namespaceOf(autoscaler)}/${nameOf(autoscaler)}`;
type Spec = NonNullable<Autoscaler['spec']>;
const specOf = ({ spec }: Autoscaler): Spec => spec;
const scaleTargetOf = (autoscaler: Autoscaler): Spec['scaleTargetRef'] => specOf(autoscaler).scaleTargetRef;

/** Returns the size that an autoscaler's limits force, and why; undefined: the size is within them. */
function outOfRange(
  current: number,
  min: number,
  max: number,
): { readonly replicas: number; readonly reason: string } | undefined {
  const reason = (which: string): string => `Current number of replicas ${which}`;
  if (current > max) return { replicas: max, reason: reason('above Spec.MaxReplicas') };
  return current < min ? { replicas: min, reason: reason('below Spec.MinReplicas') } : undefined;
}

class AutoscalerReconciler {
  readonly #context: ControllerContext;
  readonly #client: Client;
  readonly #events: EventRecorder;
  readonly #pasts = new Map<string, ScalingPast>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.manager.client;
    this.#events = context.recorder('horizontal-pod-autoscaler');
  }

  async reconcile(request: Request, { signal, logger }: ReconcileContext): Promise<Result | undefined> {
    const key = `${request.namespace}/${request.name}`;
    let autoscaler: Autoscaler;
    try {
      autoscaler = await this.#client.get(kinds.HorizontalPodAutoscaler, request, { signal });
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
      this.#pasts.delete(key);
      return undefined;
    }
    const now = this.#context.clock.now();
    const draft = new Draft(autoscaler, now);
    const target = await this.#target(autoscaler, { draft, signal, now });
    if (target)
      try {
        await this.#scale(autoscaler, target, { draft, signal, now });
      } catch (reason) {
        if (signal.aborted) throw reason;
        // the conditions say why; the next look is no repetition
        logger.debug('The autoscaler cannot scale', { err: messageOf(reason) });
      }
    if (!sameJson(autoscaler.status ?? {}, draft.status))
      await this.#client.status.update(
        kinds.HorizontalPodAutoscaler,
        { ...autoscaler, status: draft.status },
        { signal },
      );
    return { requeueAfter: syncMs };
  }

  /** Reads the size of the target; undefined: the condition says why not. */
  async #target(autoscaler: Autoscaler, { draft, signal }: Step): Promise<Target | undefined> {
    const { name, apiVersion = '', kind: kindName } = scaleTargetOf(autoscaler);
    const reference = { metadata: { namespace: namespaceOf(autoscaler), name } };
    try {
      const kind = await kindByName(this.#context.manager.apiReader, { apiVersion, kind: kindName }, signal);
      const scale: Scale = await this.#client.subResource('scale').get(kind, reference, { signal });
      const message = "the HPA controller was able to get the target's current scale";
      draft.condition('AbleToScale', 'True', { reason: 'SucceededGetScale', message });
      return { kind, scale };
    } catch (reason) {
      if (signal.aborted) throw reason;
      this.#events.event(autoscaler, 'Warning', 'FailedGetScale', messageOf(reason));
      const message = `the HPA controller was unable to get the target's current scale: ${messageOf(reason)}`;
      draft.condition('AbleToScale', 'False', { reason: 'FailedGetScale', message });
      return undefined;
    }
  }

  async #scale(autoscaler: Autoscaler, target: Target, step: Step): Promise<void> {
    const { draft, now } = step;
    const key = keyOf(autoscaler);
    const current = target.scale.spec?.replicas ?? 0;
    const past = this.#pasts.get(key) ?? { ...noPast, recommendations: [{ at: now, replicas: current }] };
    this.#pasts.set(key, past);
    const { minReplicas: min = 1, maxReplicas: max, behavior } = specOf(autoscaler);
    if (current === 0 && min !== 0) {
      const message = 'scaling is disabled since the replica count of the target is zero';
      draft.condition('ScalingActive', 'False', { reason: 'ScalingDisabled', message });
      draft.sizes(current, 0, []);
      return;
    }
    const forced = outOfRange(current, min, max);
    if (forced) {
      await this.#rescale(autoscaler, target, { ...step, ...forced, metrics: [] });
      return;
    }
    const best = await this.#evaluate(autoscaler, target.scale, step);
    if (!best) return;
    const normalized = normalize(behavior, { current, desired: best.replicas, min, max, now }, past);
    this.#pasts.set(key, normalized.past);
    draft.condition('AbleToScale', 'True', normalized.able);
    draft.condition('ScalingLimited', normalized.limited.status, normalized.limited);
    const { replicas } = normalized;
    const reason = best.replicas > current ? `${best.name} above target` : 'All metrics below target';
    if (replicas === current) draft.sizes(current, replicas, best.metrics);
    else await this.#rescale(autoscaler, target, { ...step, replicas, metrics: best.metrics, reason });
  }

  /** Evaluates each metric, and reports those that fail. */
  async #results(
    autoscaler: Autoscaler,
    selector: string,
    {
      current,
      signal,
      now,
    }: { readonly current: number; readonly signal: AbortSignal; readonly now: number },
  ): Promise<{ readonly results: readonly MetricResult[]; readonly failures: readonly MetricFailure[] }> {
    const namespace = namespaceOf(autoscaler);
    const pods = await this.#client.list(kinds.Pod, { namespace, labels: selector, signal });
    const reader = this.#context.manager.apiReader;
    const tolerances = tolerancesOf(specOf(autoscaler));
    const input = { reader, namespace, selector, pods, currentReplicas: current, tolerances, now, signal };
    const results: MetricResult[] = [];
    const failures: MetricFailure[] = [];
    for (const spec of specOf(autoscaler).metrics ?? []) {
      const result = await evaluateMetric(spec, input);
      if ('failure' in result) {
        failures.push(result.failure);
        this.#events.event(autoscaler, 'Warning', result.failure.reason, result.failure.message);
      } else results.push(result);
    }
    return { results, failures };
  }

  /** Returns what the metrics call for at most; undefined: the conditions say why nothing. */
  async #evaluate(
    autoscaler: Autoscaler,
    scale: Scale,
    { draft, signal, now }: Step,
  ): Promise<Evaluation | undefined> {
    const selector = scale.status?.selector ?? '';
    const current = scale.spec?.replicas ?? 0;
    if (selector === '') {
      this.#events.event(autoscaler, 'Warning', 'SelectorRequired', 'selector is required');
      const message = "the HPA target's scale is missing a selector";
      draft.condition('ScalingActive', 'False', { reason: 'InvalidSelector', message });
      return undefined;
    }
    const { results, failures } = await this.#results(autoscaler, selector, { current, signal, now });
    const best = results.toSorted((one, other) => other.replicas - one.replicas)[0];
    const metrics = results.map(({ status }) => status);
    const [failure] = failures;
    // with a metric that is unknown nothing is scaled down
    if (failure && (!best || best.replicas < current)) {
      const message = `the HPA was unable to compute the replica count: ${failure.message}`;
      draft.condition('ScalingActive', 'False', { reason: failure.reason, message });
      draft.sizes(current, draft.status.desiredReplicas, metrics);
      const count = `${failures.length} invalid out of ${failures.length + results.length}`;
      const text = `invalid metrics (${count}), first error is: ${failure.message}`;
      this.#events.event(autoscaler, 'Warning', 'FailedComputeMetricsReplicas', text);
      return undefined;
    }
    if (!best) return undefined;
    const message = `the HPA was able to successfully calculate a replica count from ${best.name}`;
    draft.condition('ScalingActive', 'True', { reason: 'ValidMetricFound', message });
    return { replicas: best.replicas, name: best.name, metrics };
  }

  async #rescale(
    autoscaler: Autoscaler,
    { kind, scale }: Target,
    step: Step & {
      readonly replicas: number;
      readonly reason: string;
      readonly metrics: readonly MetricStatus[];
    },
  ): Promise<void> {
    const { draft, signal, now, replicas, reason, metrics } = step;
    const current = scale.spec?.replicas ?? 0;
    const size = `New size: ${replicas}; reason: ${reason}`;
    try {
      const subResourceBody: Scale = { ...scale, spec: { ...scale.spec, replicas } };
      await this.#client
        .subResource('scale')
        .update(kind, { metadata: scale.metadata ?? {} }, { subResourceBody, signal });
    } catch (cause) {
      if (signal.aborted) throw cause;
      this.#events.event(autoscaler, 'Warning', 'FailedRescale', `${size}; error: ${messageOf(cause)}`);
      const message = `the HPA controller was unable to update the target scale: ${messageOf(cause)}`;
      draft.condition('AbleToScale', 'False', { reason: 'FailedUpdateScale', message });
      draft.sizes(current, draft.status.desiredReplicas, metrics);
      throw cause;
    }
    const message = `the HPA controller was able to update the target scale to ${replicas}`;
    draft.condition('AbleToScale', 'True', { reason: 'SucceededRescale', message });
    draft.sizes(current, replicas, metrics);
    draft.scaled();
    this.#events.event(autoscaler, 'Normal', 'SuccessfulRescale', size);
    const key = keyOf(autoscaler);
    this.#pasts.set(key, withChange(this.#pasts.get(key) ?? noPast, replicas - current, now));
  }
}
