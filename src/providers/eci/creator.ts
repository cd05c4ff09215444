import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { PodSyncResult, SyncPodRequest, SyncResult } from '../../provider/provider.ts';
import type { EciCalls } from './calls.ts';
import { groupRequest, resolvePod } from './convert-pod.ts';
import { type EciError, isEciError } from './errors.ts';
import type { GroupStore } from './group-store.ts';
import type { Listings } from './listings.ts';
import { clientToken, type EciOwner } from './ownership.ts';
import type { EciSettings } from './settings.ts';

export interface CreatorDeps {
  readonly calls: EciCalls;
  readonly listings: Listings;
  readonly store: GroupStore;
  readonly clock: Clock;
  readonly owner: EciOwner;
  readonly settings: EciSettings;
}

/** How long a pod waits after the cloud had no room for it, ms: doubled each time. */
const capacityDelay = { firstMs: 15_000, longestMs: 300_000 };

/**
 * Creator makes a pod's container group. The client token is the same at each try, and where a try's outcome is unknown the group is looked for
 * first, so a pod never has two (E20).
 */
export class Creator {
  readonly #deps: CreatorDeps;
  /** By pod UID: until when to wait for room, ms since the epoch, and after how many refusals. */
  readonly #waits = new Map<
    string,
    { readonly until: number; readonly refusals: number; readonly result: PodSyncResult }
  >();

  constructor(deps: CreatorDeps) {
    this.#deps = deps;
  }

  /** Makes the group, or says why not. A failure resolves: the pod's worker tries again. */
  async create(
    { pod, pullSecrets, resolution }: SyncPodRequest,
    signal: AbortSignal,
  ): Promise<PodSyncResult> {
    const { clock, owner, settings } = this.#deps;
    const waiting = this.#waits.get(uidOf(pod));
    if (waiting && waiting.until > clock.now()) return waiting.result;
    let parameters;
    try {
      const resolved = await resolvePod(pod, resolution, pullSecrets);
      parameters = groupRequest(pod, resolved, {
        owner,
        settings,
        clientToken: clientToken(owner, uidOf(pod), 0),
      });
    } catch (reason) {
      signal.throwIfAborted();
      return refused(pod, 'CreateContainerConfigError', messageOf(reason));
    }
    try {
      const answer = await this.#deps.calls.call('CreateContainerGroup', parameters, signal);
      return this.#created(pod, answer['ContainerGroupId']);
    } catch (reason) {
      signal.throwIfAborted();
      if (!isEciError(reason))
        return refused(pod, 'CreatePodSandboxError', messageOf(reason), 'CreatePodSandbox');
      return this.#failed(pod, reason, signal);
    }
  }

  /** Forgets what is remembered of a pod. */
  forget(uid: string): void {
    this.#waits.delete(uid);
  }

  #created(pod: Pod, groupId: unknown): PodSyncResult {
    if (typeof groupId !== 'string' || groupId === '')
      return refused(
        pod,
        'CreatePodSandboxError',
        'CreateContainerGroup: the answer has no ContainerGroupId',
        'CreatePodSandbox',
      );
    const identity = { uid: uidOf(pod), name: nameOf(pod), namespace: namespaceOf(pod) };
    this.#deps.store.created(identity, groupId, this.#deps.clock.now());
    this.#waits.delete(identity.uid);
    return { results: [], changed: true };
  }

  async #failed(pod: Pod, reason: EciError, signal: AbortSignal): Promise<PodSyncResult> {
    const mayExist = reason.class === 'transient' || reason.eciCode.startsWith('IdempotentParameterMismatch');
    const found = mayExist ? await this.#find(pod, signal) : undefined;
    if (found !== undefined) return this.#created(pod, found);
    if (reason.class === 'permanent') return refused(pod, 'CreateContainerConfigError', reason.message);
    const result = refused(pod, 'CreatePodSandboxError', reason.message, 'CreatePodSandbox');
    return reason.class === 'capacity' ? this.#wait(uidOf(pod), result) : result;
  }

  /** The pod's group, if a try that failed has made one; unknown while the cloud does not answer. */
  async #find(pod: Pod, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { groups } = await this.#deps.listings.ofPod(uidOf(pod), signal);
      return groups[0]?.ContainerGroupId;
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  #wait(uid: string, result: PodSyncResult): PodSyncResult {
    const refusals = (this.#waits.get(uid)?.refusals ?? 0) + 1;
    const delayMs = Math.min(capacityDelay.longestMs, capacityDelay.firstMs * 2 ** (refusals - 1));
    const until = this.#deps.clock.now() + delayMs;
    const waiting = { ...result, backOffUntil: until };
    this.#waits.set(uid, { until, refusals, result: waiting });
    return waiting;
  }
}

/** A sync that failed, with the reason as each container's waiting reason, or the sandbox's. */
function refused(
  pod: Pod,
  reason: string,
  message: string,
  action: SyncResult['action'] = 'StartContainer',
): PodSyncResult {
  const targets =
    action === 'StartContainer'
      ? (pod.spec?.containers ?? []).map(({ name }) => name)
      : [`${nameOf(pod)}_${namespaceOf(pod)}`];
  const results = targets.map((target): SyncResult => ({ action, target, reason, message }));
  return { results, error: new Error(message), changed: false };
}
