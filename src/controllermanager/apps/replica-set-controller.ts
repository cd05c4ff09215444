import { messageOf } from '../../base/errors.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Kind, KubeObject, Request } from '../../controller/types.ts';
import type { LabelSelector } from '../../kube/label-selector.ts';
import type { ControllerContext } from '../context.ts';
import { burst, slowStart } from '../workload/batches.ts';
import { claim, selectorOf } from '../workload/claim.ts';
import {
  controllerOf,
  isDeleted,
  nameOf,
  namespaceOf,
  podOf,
  prefixOf,
  sameStatus,
  uidOf,
} from '../workload/objects.ts';
import { PodControl } from '../workload/pod-control.ts';
import { inDeletionOrder, isActive, nextAvailability } from '../workload/pods.ts';
import type { Pod, PodTemplate, ReplicaSet } from '../workload/types.ts';
import { type ReplicaFindings, replicaStatus } from './replica-status.ts';

/** What ReplicaSets and ReplicationControllers have in common. */
interface Replicated extends KubeObject {
  spec?: { replicas?: number; minReadySeconds?: number; template?: PodTemplate };
  status?: ReplicaSet['status'];
}

/** A kind that keeps a number of pods. */
interface ReplicatedKind<T extends Replicated> {
  readonly kind: Kind<T>;
  readonly component: string;
  readonly selectorOf: (object: T) => LabelSelector | undefined;
}

/** Starts the controller of ReplicaSets. */
export const addReplicaSets = (context: ControllerContext): void => {
  addReplicated<ReplicaSet & Replicated>(context, {
    kind: kinds.ReplicaSet,
    component: 'replicaset-controller',
    selectorOf: ({ spec }) => (spec as ReplicaSet['spec'])?.selector,
  });
};

/** Starts the controller of ReplicationControllers. */
export const addReplicationControllers = (context: ControllerContext): void => {
  addReplicated<Replicated & { spec?: { selector?: Record<string, string> } }>(context, {
    kind: kinds.ReplicationController,
    component: 'replication-controller',
    selectorOf: ({ spec }) => ({ matchLabels: spec?.selector ?? {} }),
  });
};

function addReplicated<T extends Replicated>(context: ControllerContext, of: ReplicatedKind<T>): void {
  const { manager } = context;
  const { client } = manager;
  const reconciler = new ReplicaReconciler(context, of);
  controllerManagedBy(manager)
    .named(of.component)
    .for(of.kind)
    .owns(kinds.Pod)
    .watches(
      kinds.Pod,
      enqueueRequestsFromMapFunc(async (pod) => {
        if (controllerOf(pod) || isDeleted(pod)) return [];
        const all = await client.list(of.kind, { namespace: namespaceOf(pod) });
        return all
          .filter((owner) => selectorOf(of.selectorOf(owner))(pod))
          .map((owner) => ({ namespace: namespaceOf(owner), name: nameOf(owner) }));
      }),
    )
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete((request, call) => reconciler.reconcile(request, call));
}

class ReplicaReconciler<T extends Replicated> {
  readonly #context: ControllerContext;
  readonly #of: ReplicatedKind<T>;
  readonly #client: Client;
  readonly #pods: PodControl;

  constructor(context: ControllerContext, of: ReplicatedKind<T>) {
    this.#context = context;
    this.#of = of;
    this.#client = context.manager.client;
    this.#pods = new PodControl(context.manager.client, context.recorder(of.component));
  }

  async reconcile(request: Request, { signal }: ReconcileContext): Promise<Result | undefined> {
    const owner = await this.#get(request, signal);
    if (!owner) return undefined;
    const pods = await this.#client.list(kinds.Pod, { namespace: request.namespace, signal });
    const own = await claim(kinds.Pod, pods.filter(isCounted), {
      client: this.#client,
      live: this.#context.manager.apiReader,
      owner,
      ownerKind: this.#of.kind,
      selects: selectorOf(this.#of.selectorOf(owner)),
      signal,
    });
    const failed = isDeleted(owner) ? undefined : await this.#scale(owner, own.filter(isActive), signal);
    const now = this.#context.clock.now();
    const { minReadySeconds = 0, template } = owner.spec ?? {};
    const labels = template?.metadata?.labels ?? {};
    const findings = { pods: own, labels, minReadySeconds, now };
    await this.#writeStatus(owner, { ...findings, ...(failed && { failure: failed.failure }) }, signal);
    if (failed) throw failed.error;
    const wait = nextAvailability(own.filter(isActive), minReadySeconds, now);
    return wait === undefined ? undefined : { requeueAfter: wait };
  }

  async #get(key: Request, signal: AbortSignal): Promise<T | undefined> {
    return this.#client.get(this.#of.kind, key, { signal }).catch(ignoreNotFound);
  }

  /** Creates or deletes pods. Resolves to what failed. */
  async #scale(
    owner: T,
    active: readonly Pod[],
    signal: AbortSignal,
  ): Promise<
    { readonly failure: NonNullable<ReplicaFindings['failure']>; readonly error: unknown } | undefined
  > {
    const missing = (owner.spec?.replicas ?? 1) - active.length;
    if (missing === 0) return undefined;
    const { error } =
      missing > 0
        ? await slowStart(Math.min(missing, burst), () => this.#create(owner, signal))
        : await this.#deleteSome(owner, active, { count: Math.min(-missing, burst), signal });
    if (error === undefined) return undefined;
    const reason = missing > 0 ? 'FailedCreate' : 'FailedDelete';
    return { failure: { reason, message: messageOf(error) }, error };
  }

  async #create(owner: T, signal: AbortSignal): Promise<void> {
    const pod = podOf(owner.spec?.template, owner, this.#of.kind);
    const metadata = { ...pod.metadata, generateName: prefixOf(owner) };
    await this.#pods.create(owner, { ...pod, metadata }, signal);
  }

  async #deleteSome(
    owner: T,
    active: readonly Pod[],
    { count, signal }: { readonly count: number; readonly signal: AbortSignal },
  ): Promise<{ readonly error?: unknown }> {
    const related = await this.#relatedPods(owner, active, signal);
    const victims = inDeletionOrder(active, related, this.#context.clock.now()).slice(0, count);
    const results = await Promise.allSettled(victims.map((pod) => this.#pods.delete(owner, pod, signal)));
    const failed = results.find((one) => one.status === 'rejected');
    return failed ? { error: failed.reason as unknown } : {};
  }

  /** Returns the pods of all owners with the same controller: those of a Deployment. */
  async #relatedPods(owner: T, own: readonly Pod[], signal: AbortSignal): Promise<readonly Pod[]> {
    const above = controllerOf(owner)?.uid;
    if (above === undefined) return own;
    const namespace = namespaceOf(owner);
    const siblings = await this.#client.list(this.#of.kind, { namespace, signal });
    const uids = new Set(siblings.filter((one) => controllerOf(one)?.uid === above).map(uidOf));
    const pods = await this.#client.list(kinds.Pod, { namespace, signal });
    return pods.filter((pod) => uids.has(controllerOf(pod)?.uid ?? ''));
  }

  async #writeStatus(owner: T, findings: ReplicaFindings, signal: AbortSignal): Promise<void> {
    const status = replicaStatus(owner, findings);
    if (sameStatus(owner.status, status)) return;
    await this.#client.status.update(this.#of.kind, { ...owner, status }, { signal });
  }
}

/** Pods that have ended are left alone: they are neither adopted nor released. */
const isCounted = ({ status }: Pod): boolean => status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
