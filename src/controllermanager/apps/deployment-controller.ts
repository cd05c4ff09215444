import { messageOf } from '../../base/errors.ts';
import { hasCause, isAlreadyExists, isNotFound } from '../../api/client.ts';
import { sameJson } from '../../apimachinery/json.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
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
import type { Condition, Deployment, ReplicaSet } from '../workload/types.ts';
import {
  active,
  beyondHistory,
  desiredAnnotation,
  isRolling,
  newSetOf,
  newSetSize,
  type Resize,
  replicasOf,
  sameTemplate,
  scaleAll,
  shrinkOld,
  desiredReplicas,
} from './deployment-rollout.ts';
import { newSet, refreshed, revisionAnnotation, revisionOf, sizeAnnotations } from './deployment-sets.ts';
import {
  conditionOf,
  deadlineOf,
  hasDeadline,
  isComplete,
  reasons,
  rolloutStatus,
  setCondition,
  type Status,
  statusOf,
} from './deployment-status.ts';

/** Starts the controller of Deployments. */
export function addDeployments(context: ControllerContext): void {
  const { manager } = context;
  const { client } = manager;
  const reconciler = new DeploymentReconciler(context);
  controllerManagedBy(manager)
    .named('deployment-controller')
    .for(kinds.Deployment)
    .owns(kinds.ReplicaSet)
    .watches(
      kinds.Pod,
      // a Deployment that recreates waits for the last of its pods
      enqueueRequestsFromMapFunc(async (pod) => {
        const set = controllerOf(pod);
        if (set?.kind !== 'ReplicaSet') return [];
        const key = { namespace: namespaceOf(pod), name: set.name };
        const owner = controllerOf(await client.get(kinds.ReplicaSet, key).catch(() => ({})));
        return owner?.kind === 'Deployment' ? [{ namespace: key.namespace, name: owner.name }] : [];
      }),
      {
        predicates: [{ create: () => false, update: () => false, delete: () => true, generic: () => false }],
      },
    )
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete((request, call) => reconciler.reconcile(request, call));
}

/** One reconcile of one Deployment. */
interface Round {
  readonly deployment: Deployment;
  readonly sets: readonly ReplicaSet[];
  readonly fresh: ReplicaSet | undefined;
  readonly olds: readonly ReplicaSet[];
  readonly signal: AbortSignal;
}

class DeploymentReconciler {
  readonly #context: ControllerContext;
  readonly #client: Client;
  readonly #events: EventRecorder;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.manager.client;
    this.#events = context.recorder('deployment-controller');
  }

  async reconcile(request: Request, { signal }: ReconcileContext): Promise<Result | undefined> {
    const found = await this.#get(request, signal);
    if (!found) return undefined;
    const sets = await this.#sets(found, signal);
    if (isDeleted(found)) return this.#finish(roundOf(found, sets, signal), statusOf);
    const deployment = await this.#checkPaused(found, signal);
    const round = roundOf(deployment, sets, signal);
    if (deployment.spec?.paused === true || isScaled(round)) return this.#scale(round);
    return isRolling(deployment) ? this.#roll(round) : this.#recreate(round);
  }

  async #get(key: Request, signal: AbortSignal): Promise<Deployment | undefined> {
    return this.#client.get(kinds.Deployment, key, { signal }).catch(ignoreNotFound);
  }

  async #sets(deployment: Deployment, signal: AbortSignal): Promise<readonly ReplicaSet[]> {
    const all = await this.#client.list(kinds.ReplicaSet, { namespace: namespaceOf(deployment), signal });
    return claim(kinds.ReplicaSet, all, {
      client: this.#client,
      live: this.#context.manager.apiReader,
      owner: deployment,
      ownerKind: kinds.Deployment,
      selects: selectorOf(deployment.spec?.selector),
      signal,
    });
  }

  /** Records in `Progressing` that a Deployment was paused or resumed: its deadline starts anew. */
  async #checkPaused(deployment: Deployment, signal: AbortSignal): Promise<Deployment> {
    if (!hasDeadline(deployment)) return deployment;
    const condition = conditionOf(deployment.status, 'Progressing');
    const paused = deployment.spec?.paused === true;
    if (condition?.reason === reasons.timedOut || (condition?.reason === reasons.paused) === paused)
      return deployment;
    return this.#progress(deployment, {
      status: 'Unknown',
      reason: paused ? reasons.paused : reasons.resumed,
      message: `Deployment is ${paused ? 'paused' : 'resumed'}`,
      signal,
    });
  }

  async #progress(
    deployment: Deployment,
    { signal, ...condition }: Omit<Condition, 'type'> & { readonly signal: AbortSignal },
  ): Promise<Deployment> {
    const set = { type: 'Progressing', ...condition };
    const conditions = setCondition(deployment.status?.conditions, set, this.#context.clock.now());
    const status = { ...deployment.status, conditions } as Status;
    return this.#client.status.update(kinds.Deployment, { ...deployment, status }, { signal });
  }

  /** Scales without a rollout: while paused, and when the size changes. */
  async #scale(round: Round): Promise<Result | undefined> {
    const { deployment, olds } = round;
    const current = round.fresh ? await this.#ensureNew(round) : round;
    const sets = await this.#resize(current, scaleAll(deployment, current.fresh, olds));
    if (deployment.spec?.paused === true) await this.#cleanUp(current);
    return this.#finish(sets, statusOf);
  }

  async #roll(before: Round): Promise<Result | undefined> {
    const round = await this.#ensureNew(before);
    const { fresh, deployment } = round;
    if (!fresh) return undefined;
    const size = newSetSize(deployment, round.sets, replicasOf(fresh));
    const resizes =
      size === replicasOf(fresh)
        ? shrinkOld(deployment, fresh, round.olds)
        : [{ set: fresh, replicas: size }];
    const next = await this.#resize(round, resizes);
    if (resizes.length === 0 && isDone(round)) await this.#cleanUp(round);
    return this.#finish(next, rolloutStatus);
  }

  async #recreate(before: Round): Promise<Result | undefined> {
    const downs = active(before.olds).map((set) => ({ set, replicas: 0 }));
    if (downs.length > 0) return this.#finish(await this.#resize(before, downs), rolloutStatus);
    if (await this.#oldPodsRun(before)) return this.#finish(before, rolloutStatus);
    const round = await this.#ensureNew(before);
    const { fresh, deployment } = round;
    if (!fresh) return undefined;
    const desired = desiredReplicas(deployment);
    const ups = replicasOf(fresh) === desired ? [] : [{ set: fresh, replicas: desired }];
    const next = await this.#resize(round, ups);
    if (isDone(round)) await this.#cleanUp(round);
    return this.#finish(next, rolloutStatus);
  }

  async #oldPodsRun({ deployment, olds, signal }: Round): Promise<boolean> {
    if (olds.some(({ status }) => (status?.replicas ?? 0) > 0)) return true;
    const uids = new Set(olds.map(uidOf));
    const pods = await this.#client.list(kinds.Pod, { namespace: namespaceOf(deployment), signal });
    return pods.some(
      (pod) =>
        uids.has(controllerOf(pod)?.uid ?? '') &&
        pod.status?.phase !== 'Failed' &&
        pod.status?.phase !== 'Succeeded',
    );
  }

  /** Creates the ReplicaSet of the current template, or brings its annotations up to date. */
  async #ensureNew(round: Round): Promise<Round> {
    const { fresh, olds, signal } = round;
    const revision = Math.max(0, ...olds.map(revisionOf)) + 1;
    if (!fresh) return this.#create(round, revision);
    const changed = refreshed(round.deployment, fresh, revision);
    const set = changed ? await this.#client.update(kinds.ReplicaSet, changed, { signal }) : fresh;
    const deployment = await this.#setRevision(round.deployment, String(revisionOf(set)), signal);
    const next = { ...round, deployment, fresh: set, sets: [...olds, set] };
    if (!hasDeadline(deployment) || conditionOf(deployment.status, 'Progressing')) return next;
    const message = `Found new replica set "${nameOf(set)}"`;
    const condition = { status: 'True', reason: reasons.found, message, signal };
    return { ...next, deployment: await this.#progress(deployment, condition) };
  }

  async #setRevision(deployment: Deployment, revision: string, signal: AbortSignal): Promise<Deployment> {
    if (deployment.metadata?.annotations?.[revisionAnnotation] === revision) return deployment;
    const annotations = { ...deployment.metadata?.annotations, [revisionAnnotation]: revision };
    const metadata = { ...deployment.metadata, annotations };
    // with the status, since a new annotation alone would be a new generation
    return this.#client.status.update(kinds.Deployment, { ...deployment, metadata }, { signal });
  }

  async #create(round: Round, revision: number): Promise<Round> {
    const { deployment, olds, signal } = round;
    const set = newSet(deployment, newSetSize(deployment, olds, 0), revision);
    let created: ReplicaSet;
    try {
      created = await this.#client.create(kinds.ReplicaSet, set, { signal });
    } catch (reason) {
      created = await this.#afterFailedCreate(deployment, set, { reason, signal });
    }
    if (replicasOf(created) > 0) this.#scaled(deployment, created, 0);
    const revised = await this.#setRevision(deployment, String(revision), signal);
    const next = { ...round, deployment: revised, fresh: created, sets: [...olds, created] };
    if (!hasDeadline(deployment)) return next;
    const message = `Created new replica set "${nameOf(created)}"`;
    const condition = { status: 'True', reason: reasons.created, message, signal };
    return { ...next, deployment: await this.#progress(revised, condition) };
  }

  /** Takes over a ReplicaSet that exists already and is the Deployment's own; another one of the name is a collision of hashes. */
  async #afterFailedCreate(
    deployment: Deployment,
    set: ReplicaSet,
    { reason, signal }: { readonly reason: unknown; readonly signal: AbortSignal },
  ): Promise<ReplicaSet> {
    if (isAlreadyExists(reason)) {
      const key = { namespace: namespaceOf(set), name: nameOf(set) };
      const existing = await this.#context.manager.apiReader.get(kinds.ReplicaSet, key, { signal });
      if (
        isControlledBy(existing, deployment) &&
        sameTemplate(existing.spec?.template, deployment.spec?.template)
      )
        return existing;
      const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
      const status = { ...deployment.status, collisionCount } as Status;
      await this.#client.status.update(kinds.Deployment, { ...deployment, status }, { signal });
    } else if (!hasCause(reason, 'NamespaceTerminating')) {
      const message = `Failed to create new replica set "${nameOf(set)}": ${messageOf(reason)}`;
      this.#events.event(deployment, 'Warning', reasons.failedCreate, message);
      if (hasDeadline(deployment))
        await this.#progress(deployment, { status: 'False', reason: reasons.failedCreate, message, signal });
    }
    throw reason;
  }

  /** Writes new sizes, and the annotations that remember the Deployment's. */
  async #resize(round: Round, resizes: readonly Resize[]): Promise<Round> {
    const { deployment, signal } = round;
    const changed = new Map<string, ReplicaSet>();
    const all =
      round.deployment.spec?.paused === true || isScaled(round) ? keepAnnotated(round, resizes) : resizes;
    for (const { set, replicas } of all) {
      const annotations = { ...set.metadata?.annotations, ...sizeAnnotations(deployment) };
      if (replicas === replicasOf(set) && sameJson(annotations, set.metadata?.annotations)) continue;
      const next = { ...set, metadata: { ...set.metadata, annotations } } as ReplicaSet;
      if (next.spec) next.spec = { ...next.spec, replicas };
      const updated = await this.#client.update(kinds.ReplicaSet, next, { signal });
      if (replicas !== replicasOf(set)) this.#scaled(deployment, updated, replicasOf(set));
      changed.set(uidOf(set), updated);
    }
    const current = (set: ReplicaSet): ReplicaSet => changed.get(uidOf(set)) ?? set;
    const fresh = round.fresh && current(round.fresh);
    return { ...round, fresh, olds: round.olds.map(current), sets: round.sets.map(current) };
  }

  #scaled(deployment: Deployment, set: ReplicaSet, from: number): void {
    const to = replicasOf(set);
    const message = `Scaled ${to > from ? 'up' : 'down'} replica set ${nameOf(set)} from ${from} to ${to}`;
    this.#events.event(deployment, 'Normal', 'ScalingReplicaSet', message);
  }

  async #cleanUp({ deployment, olds, signal }: Round): Promise<void> {
    for (const set of beyondHistory(deployment, olds, revisionOf))
      await this.#client
        .delete(kinds.ReplicaSet, set, { preconditions: { uid: uidOf(set) }, signal })
        .catch((reason: unknown) => {
          if (!isNotFound(reason)) throw reason;
        });
  }

  async #finish(
    { deployment, sets, fresh, signal }: Round,
    of: typeof statusOf,
  ): Promise<Result | undefined> {
    const now = this.#context.clock.now();
    const status = of(deployment, { sets, fresh, now });
    if (!sameStatus(deployment.status, status))
      await this.#client.status.update(kinds.Deployment, { ...deployment, status }, { signal });
    const deadline = deadlineOf(deployment, status);
    const isStuck = conditionOf(status, 'Progressing')?.reason !== reasons.timedOut;
    if (deadline === undefined || !isStuck || isComplete(deployment, status)) return undefined;
    // a second later, since conditions have whole seconds
    return { requeueAfter: Math.max(1000, deadline + 1000 - now) };
  }
}

function roundOf(deployment: Deployment, sets: readonly ReplicaSet[], signal: AbortSignal): Round {
  const fresh = newSetOf(deployment, sets);
  return { deployment, sets, fresh, olds: sets.filter((set) => set !== fresh), signal };
}

/** True when the size of the Deployment has changed since its ReplicaSets were sized. */
const isScaled = ({ deployment, sets }: Round): boolean =>
  active(sets).some((set) => {
    const desired = set.metadata?.annotations?.[desiredAnnotation];
    return desired !== undefined && Number(desired) !== desiredReplicas(deployment);
  });

/** Adds the active ReplicaSets whose size stays: they remember the new size of the Deployment too. */
const keepAnnotated = ({ sets }: Round, resizes: readonly Resize[]): readonly Resize[] => [
  ...resizes,
  ...active(sets)
    .filter((set) => !resizes.some((one) => uidOf(one.set) === uidOf(set)))
    .map((set) => ({ set, replicas: replicasOf(set) })),
];

const isDone = ({ deployment }: Round): boolean => isComplete(deployment, deployment.status ?? {});
