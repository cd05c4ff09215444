import { messageOf } from '../../base/errors.ts';
import { hasCause, isAlreadyExists, isNotFound } from '../../api/client.ts';
import { canonicalJson, sameJson } from '../../apimachinery/json.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { rawPatch } from '../../controller/client/patches.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { claim, selectorOf } from '../workload/claim.ts';
import {
  controllerReference,
  hashOf,
  isControlledBy,
  isDeleted,
  nameOf,
  namespaceOf,
  uidOf,
} from '../workload/objects.ts';
import { nextAvailability } from '../workload/pods.ts';
import type { ControllerRevision, Pod, PodTemplate, StatefulSet } from '../workload/types.ts';
import {
  claimOwner,
  claimsOf,
  ordinalOf,
  ordinalsOf,
  planStateful,
  type Revision,
  revisionLabel,
  statefulPod,
  statefulStatus,
} from './stateful-decisions.ts';

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

interface Revisions {
  readonly all: readonly ControllerRevision[];
  readonly current: Revision;
  readonly update: Revision;
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
    const revisions = await this.#revisions(set, signal);
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
    try {
      return await this.#client.get(kinds.StatefulSet, key, { signal });
    } catch (reason) {
      if (isNotFound(reason)) return undefined;
      throw reason;
    }
  }

  /** Returns the revisions of the template: that of the status, and that of the spec, which is created if it is new. */
  async #revisions(set: StatefulSet, signal: AbortSignal): Promise<Revisions> {
    const namespace = namespaceOf(set);
    const listed = await this.#client.list(kinds.ControllerRevision, { namespace, signal });
    const own = listed.filter((one) => isControlledBy(one, set)).toSorted((a, b) => a.revision - b.revision);
    const data = revisionData(set);
    const last = own.at(-1);
    const same = own.findLast((one) => canonicalJson(one.data) === canonicalJson(data));
    let update = same;
    if (!update)
      update = await this.#createRevision(set, { data, revision: (last?.revision ?? 0) + 1 }, signal);
    else if (update !== last && last) {
      const body = { revision: last.revision + 1 };
      update = await this.#client.patch(kinds.ControllerRevision, update, rawPatch('merge', body), {
        signal,
      });
    }
    const current = own.find((one) => nameOf(one) === set.status?.currentRevision) ?? update;
    const revisionOf = (one: ControllerRevision): Revision => ({
      name: nameOf(one),
      template: templateOf(one),
    });
    return { all: own, current: revisionOf(current), update: revisionOf(update) };
  }

  async #createRevision(
    set: StatefulSet,
    { data, revision }: { readonly data: object; readonly revision: number },
    signal: AbortSignal,
  ): Promise<ControllerRevision> {
    const hash = hashOf(data, set.status?.collisionCount ?? 0);
    const object: ControllerRevision = {
      metadata: {
        namespace: namespaceOf(set),
        name: `${nameOf(set)}-${hash}`,
        labels: { ...set.spec?.template.metadata?.labels, [revisionLabel]: hash },
        ownerReferences: [controllerReference(set, kinds.StatefulSet)],
      },
      data,
      revision,
    };
    return this.#client.create(kinds.ControllerRevision, object, { signal });
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
  // eslint-disable-next-line complexity -- one claim of one pod after the other
  async #ownClaims(set: StatefulSet, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    if (set.spec?.persistentVolumeClaimRetentionPolicy === undefined) return;
    const [from, to] = ordinalsOf(set);
    for (const pod of pods) {
      const ordinal = ordinalOf(set, pod);
      const owners = claimOwner(set, pod, ordinal < from || ordinal >= to);
      for (const { metadata } of claimsOf(set, ordinal)) {
        const key = { namespace: namespaceOf(set), name: metadata?.name ?? '' };
        const claim = await this.#client
          .get(kinds.PersistentVolumeClaim, key, { signal })
          .catch(() => undefined);
        if (!claim || sameJson(claim.metadata?.ownerReferences ?? [], owners ?? [])) continue;
        const body = { metadata: { ownerReferences: owners ?? null } };
        await this.#client.patch(kinds.PersistentVolumeClaim, claim, rawPatch('merge', body), { signal });
      }
    }
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
    if (!sameJson(status, set.status ?? {}))
      await this.#client.status.update(kinds.StatefulSet, { ...set, status }, { signal });
    const used = new Set([
      ...pods.map(({ metadata }) => metadata?.labels?.[revisionLabel]),
      revisions.current.name,
      revisions.update.name,
    ]);
    const unused = revisions.all.filter((one) => !used.has(nameOf(one)));
    const excess = unused.length - (set.spec?.revisionHistoryLimit ?? 10);
    for (const one of unused.slice(0, Math.max(0, excess)))
      await this.#client.delete(kinds.ControllerRevision, one, { signal }).catch((reason: unknown) => {
        if (!isNotFound(reason)) throw reason;
      });
  }
}

/** What a revision records: a patch that sets the template, which `kubectl rollout undo` applies. */
const revisionData = ({ spec }: StatefulSet): object => ({
  spec: { template: { ...spec?.template, $patch: 'replace' } },
});

function templateOf({ data }: ControllerRevision): PodTemplate | undefined {
  const { spec } = data as {
    readonly spec?: { readonly template?: PodTemplate & { readonly $patch?: string } };
  };
  if (!spec?.template) return undefined;
  const { $patch: _patch, ...template } = spec.template;
  return template;
}
