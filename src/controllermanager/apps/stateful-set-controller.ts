import { messageOf } from '../../base/errors.ts';
import { hasCause, isAlreadyExists, isNotFound } from '../../api/client.ts';
import { sameJson } from '../../apimachinery/json.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { rawPatch } from '../../controller/client/patches.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { claim, selectorOf } from '../workload/claim.ts';
import { isDeleted, nameOf, namespaceOf, sameStatus, uidOf } from '../workload/objects.ts';
import { nextAvailability } from '../workload/pods.ts';
import { deleteRevision, revisionLabel } from '../workload/revisions.ts';
import type { Claim, Pod, StatefulSet } from '../workload/types.ts';
import {
  claimOwner,
  claimsOf,
  ordinalOf,
  ordinalsOf,
  planStateful,
  type Revision,
  statefulPod,
  statefulStatus,
} from './stateful-decisions.ts';
import { type Revisions, statefulRevisions } from './stateful-revisions.ts';

/** Starts the controller of StatefulSets. */
export function addStatefulSets(context: ControllerContext): void {
  const reconciler = new StatefulReconciler(context);
  controllerManagedBy(context.manager)
    .named('statefulset-controller')
    .for(kinds.StatefulSet)
    .owns(kinds.Pod)
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete((request, call) => reconciler.reconcile(request, call));
}

class StatefulReconciler {
  readonly #context: ControllerContext;
  readonly #client: Client;
  readonly #events: EventRecorder;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.manager.client;
    this.#events = context.recorder('statefulset-controller');
  }

  async reconcile(request: Request, { signal }: ReconcileContext): Promise<Result | undefined> {
    const set = await this.#get(request, signal);
    if (!set || isDeleted(set)) return undefined;
    const namespace = namespaceOf(set);
    const all = await this.#client.list(kinds.Pod, { namespace, signal });
    const matches = selectorOf(set.spec?.selector);
    const pods = await claim(kinds.Pod, all, {
      client: this.#client,
      live: this.#context.manager.apiReader,
      owner: set,
      ownerKind: kinds.StatefulSet,
      selects: (pod) => matches(pod) && ordinalOf(set, pod) >= 0,
      signal,
    });
    const live = this.#context.manager.apiReader;
    const revisions = await statefulRevisions(set, { client: this.#client, live, signal });
    const now = this.#context.clock.now();
    const plan = planStateful(set, pods, { ...revisions, now });
    await this.#ownClaims(set, pods, signal);
    for (const { ordinal, revision } of plan.create) await this.#create(set, ordinal, { revision, signal });
    for (const pod of plan.remove) await this.#delete(set, pod, signal);
    await this.#finish(set, { pods, revisions, now, signal });
    const wait = nextAvailability(pods, set.spec?.minReadySeconds ?? 0, now);
    return wait === undefined ? undefined : { requeueAfter: wait };
  }

  async #get(key: Request, signal: AbortSignal): Promise<StatefulSet | undefined> {
    return this.#client.get(kinds.StatefulSet, key, { signal }).catch(ignoreNotFound);
  }

  async #create(
    set: StatefulSet,
    ordinal: number,
    { revision, signal }: { readonly revision: Revision; readonly signal: AbortSignal },
  ): Promise<void> {
    const pod = statefulPod(set, ordinal, revision);
    const what = `Pod ${nameOf(pod)} in StatefulSet ${nameOf(set)}`;
    try {
      await this.#createClaims(set, ordinal, signal);
      await this.#client.create(kinds.Pod, pod, { signal });
      this.#events.event(set, 'Normal', 'SuccessfulCreate', `create ${what} successful`);
    } catch (reason) {
      if (hasCause(reason, 'NamespaceTerminating')) return;
      const message = `create ${what} failed error: ${messageOf(reason)}`;
      this.#events.event(set, 'Warning', 'FailedCreate', message);
      throw reason;
    }
  }

  async #createClaims(set: StatefulSet, ordinal: number, signal: AbortSignal): Promise<void> {
    for (const desired of claimsOf(set, ordinal))
      try {
        await this.#client.create(kinds.PersistentVolumeClaim, desired, { signal });
      } catch (reason) {
        if (!isAlreadyExists(reason)) throw reason;
      }
  }

  /** Sets the owners of claims by the retention policy. */
  async #ownClaims(set: StatefulSet, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    if (set.spec?.persistentVolumeClaimRetentionPolicy === undefined) return;
    const [from, to] = ordinalsOf(set);
    for (const pod of pods) {
      const ordinal = ordinalOf(set, pod);
      const owners = claimOwner(set, pod, ordinal < from || ordinal >= to);
      for (const claim of claimsOf(set, ordinal)) await this.#ownClaim(claim, owners, signal);
    }
  }

  async #ownClaim(
    { metadata }: Claim,
    owners: ReturnType<typeof claimOwner>,
    signal: AbortSignal,
  ): Promise<void> {
    const key = { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' };
    const found = await this.#client.get(kinds.PersistentVolumeClaim, key, { signal }).catch(ignoreNotFound);
    if (!found || sameJson(found.metadata?.ownerReferences ?? [], owners ?? [])) return;
    const body = { metadata: { ownerReferences: owners ?? null } };
    await this.#client.patch(kinds.PersistentVolumeClaim, found, rawPatch('merge', body), { signal });
  }

  async #delete(set: StatefulSet, pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.delete(kinds.Pod, pod, { preconditions: { uid: uidOf(pod) }, signal });
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
    const what = `Pod ${nameOf(pod)} in StatefulSet ${nameOf(set)}`;
    this.#events.event(set, 'Normal', 'SuccessfulDelete', `delete ${what} successful`);
  }

  /** Writes the status, and deletes revisions that no pod has and the history does not keep. */
  async #finish(
    set: StatefulSet,
    found: {
      readonly pods: readonly Pod[];
      readonly revisions: Revisions;
      readonly now: number;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const { pods, revisions, now, signal } = found;
    const status = statefulStatus(set, pods, { ...revisions, now });
    if (!sameStatus(set.status, status))
      await this.#client.status.update(kinds.StatefulSet, { ...set, status }, { signal });
    const used = new Set([
      ...pods.map(({ metadata }) => metadata?.labels?.[revisionLabel]),
      revisions.current.name,
      revisions.update.name,
    ]);
    const unused = revisions.all.filter((one) => !used.has(nameOf(one)));
    const excess = unused.length - (set.spec?.revisionHistoryLimit ?? 10);
    for (const one of unused.slice(0, Math.max(0, excess)))
      await deleteRevision(one, { client: this.#client, signal });
  }
}
