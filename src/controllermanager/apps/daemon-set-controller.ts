import { Backoff } from '../../base/backoff.ts';
import { sameJson } from '../../apimachinery/json.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import { predicateFuncs } from '../../controller/predicate/predicate.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { burst, slowStart } from '../workload/batches.ts';
import { claim, selectorOf } from '../workload/claim.ts';
import {
  controllerOf,
  isControlledBy,
  isDeleted,
  nameOf,
  namespaceOf,
  sameStatus,
  uidOf,
} from '../workload/objects.ts';
import { PodControl } from '../workload/pod-control.ts';
import { nextAvailability } from '../workload/pods.ts';
import type { DaemonSet, Node, Pod } from '../workload/types.ts';
import {
  byNode,
  daemonStatus,
  type DaemonPlan,
  type DaemonView,
  planRolling,
  planUpkeep,
} from './daemon-decisions.ts';
import { daemonPod, targetNode } from './daemon-nodes.ts';
import { cleanUpRevisions, daemonRevisions, hashOfRevision } from './daemon-revisions.ts';

/** The back-off of the replacement of failed pods on a node. */
const failedPodBackoff = { initialMs: 1000, maxMs: 15 * 60_000 };

/** Starts the controller of DaemonSets. */
export function addDaemonSets(context: ControllerContext): void {
  const { manager } = context;
  const { client } = manager;
  const reconciler = new DaemonReconciler(context);
  const keyOf = (set: DaemonSet): Request => ({ namespace: namespaceOf(set), name: nameOf(set) });
  controllerManagedBy(manager)
    .named('daemonset-controller')
    .for(kinds.DaemonSet)
    .owns(kinds.Pod)
    .watches(
      kinds.Pod,
      enqueueRequestsFromMapFunc(async (pod) => {
        if (controllerOf(pod) || isDeleted(pod)) return [];
        const all = await client.list(kinds.DaemonSet, { namespace: namespaceOf(pod) });
        return all.filter(({ spec }) => selectorOf(spec?.selector)(pod)).map(keyOf);
      }),
    )
    .watches(
      kinds.Node,
      enqueueRequestsFromMapFunc(async () => (await client.list(kinds.DaemonSet)).map(keyOf)),
      { predicates: [predicateFuncs({ update: mayMove })] },
    )
    .withOptions({ maxConcurrentReconciles: 2 })
    .complete((request, call) => reconciler.reconcile(request, call));
}

/** Reports whether a change of a node may bring or expel pods. */
const mayMove = ({ objectOld, objectNew }: { readonly objectOld: Node; readonly objectNew: Node }): boolean =>
  !sameJson(objectOld.metadata?.labels ?? {}, objectNew.metadata?.labels ?? {}) ||
  !sameJson(objectOld.spec?.taints ?? [], objectNew.spec?.taints ?? []);

class DaemonReconciler {
  readonly #context: ControllerContext;
  readonly #client: Client;
  readonly #events: EventRecorder;
  readonly #pods: PodControl;
  readonly #backoff: Backoff;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.manager.client;
    this.#events = context.recorder('daemonset-controller');
    this.#pods = new PodControl(this.#client, this.#events);
    this.#backoff = new Backoff(context.clock, failedPodBackoff);
  }

  async reconcile(request: Request, { signal }: ReconcileContext): Promise<Result | undefined> {
    const set = await this.#get(request, signal);
    if (!set) return undefined;
    if (Object.keys(set.spec?.selector ?? {}).length === 0) {
      const message = 'This daemon set is selecting all pods. A non-empty selector is required.';
      this.#events.event(set, 'Warning', 'SelectingAll', message);
      return undefined;
    }
    if (isDeleted(set)) return undefined;
    const live = this.#context.manager.apiReader;
    const revisions = await daemonRevisions(set, { client: this.#client, live, signal });
    const nodes = await this.#client.list(kinds.Node, { signal });
    const hash = hashOfRevision(revisions.current);
    const listed = await this.#client.list(kinds.Pod, { namespace: request.namespace, signal });
    const own = await claim(kinds.Pod, listed, {
      client: this.#client,
      live,
      owner: set,
      ownerKind: kinds.DaemonSet,
      selects: selectorOf(set.spec?.selector),
      signal,
    });
    const view = { nodes, pods: byNode(own), hash, now: this.#context.clock.now() };
    const { after, error } = await this.#act(set, view, signal);
    await cleanUpRevisions(set, revisions, { pods: own, client: this.#client, signal });
    const pods = await this.#finish(set, view, signal);
    if (error !== undefined) throw error as Error;
    const wait = nextAvailability(pods, set.spec?.minReadySeconds ?? 0, view.now);
    const times = [after, wait].filter((time) => time !== undefined);
    return times.length > 0 ? { requeueAfter: Math.min(...times) } : undefined;
  }

  async #get(key: Request, signal: AbortSignal): Promise<DaemonSet | undefined> {
    return this.#client.get(kinds.DaemonSet, key, { signal }).catch(ignoreNotFound);
  }

  /** Creates and deletes pods: first so that each node has one, then of a rolling update. */
  async #act(
    set: DaemonSet,
    view: DaemonView,
    signal: AbortSignal,
  ): Promise<{ readonly after?: number | undefined; readonly error?: unknown }> {
    const keyOf = (node: string): string => `${uidOf(set)}/${set.status?.observedGeneration ?? 0}/${node}`;
    const plan = planUpkeep(set, view, (node) =>
      this.#backoff.isInBackOffSinceUpdate(keyOf(node), view.now) ? this.#backoff.get(keyOf(node)) : 0,
    );
    for (const pod of plan.failed) {
      this.#backoff.next(keyOf(targetNode(pod) ?? ''), view.now);
      this.#tell(set, pod, 'failed');
    }
    this.#backoff.gc();
    for (const pod of plan.succeeded) this.#tell(set, pod, 'succeeded');
    const error = await this.#sync(set, plan, { hash: view.hash, signal });
    const isAtRest = plan.create.length + plan.remove.length === 0;
    if (error !== undefined || !isAtRest || set.spec?.updateStrategy?.type !== 'RollingUpdate')
      return { after: plan.after, error };
    const rolling = await this.#sync(set, planRolling(set, view), { hash: view.hash, signal });
    return { after: plan.after, error: rolling };
  }

  #tell(set: DaemonSet, pod: Pod, what: 'failed' | 'succeeded'): void {
    const where = `daemon pod ${namespaceOf(pod)}/${nameOf(pod)} on node ${targetNode(pod) ?? ''}`;
    if (what === 'failed')
      this.#events.event(set, 'Warning', 'FailedDaemonPod', `Found failed ${where}, will try to kill it`);
    else
      this.#events.event(
        set,
        'Normal',
        'SucceededDaemonPod',
        `Found succeeded ${where}, will try to delete it`,
      );
  }

  /** @returns what failed first */
  async #sync(
    set: DaemonSet,
    { create, remove }: DaemonPlan,
    { hash, signal }: { readonly hash: string; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const { error } = await slowStart(Math.min(create.length, burst), (at) =>
      this.#pods.create(set, daemonPod(set, create[at] ?? '', hash), signal),
    );
    const results = await Promise.allSettled(
      remove.slice(0, burst).map((pod) => this.#pods.delete(set, pod, signal)),
    );
    const failed = results.find((one) => one.status === 'rejected');
    return error ?? (failed?.reason as unknown);
  }

  /** Writes the status by the pods as they are now. */
  async #finish(set: DaemonSet, before: DaemonView, signal: AbortSignal): Promise<readonly Pod[]> {
    const listed = await this.#client.list(kinds.Pod, { namespace: namespaceOf(set), signal });
    const pods = listed.filter((pod) => isControlledBy(pod, set));
    const status = daemonStatus(set, { ...before, pods: byNode(pods) });
    if (!sameStatus(set.status, status))
      await this.#client.status.update(kinds.DaemonSet, { ...set, status }, { signal });
    return pods;
  }
}
