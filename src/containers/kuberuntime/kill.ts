import { type Clock, steadyNow } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { findContainer } from '../../kube/container-fields.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Logger } from '../../base/logger.ts';
import { hasRestartableInitContainer } from '../../kube/restart-policy.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { ContainerRuntime } from '../../provider/container-runtime.ts';
import type { SyncResult } from '../../provider/provider.ts';
import type { RuntimeContainer, RuntimePod } from '../../provider/runtime-pod.ts';
import { podText } from '../container/backoff.ts';
import { containerEvents } from './container-events.ts';
import { runtimeId } from './config/convert.ts';
import { type KillReason, stopTimeout, terminationGracePeriod } from './grace-period.ts';
import type { HookRunner } from './hooks.ts';
import { identityFromLabels, recordFromAnnotations } from './config/labels.ts';
import { demandStatus, isNotFound } from '../container/runtime-errors.ts';
import { TerminationOrder } from './actions/termination-order.ts';

export interface ContainerKillerDeps {
  readonly runtime: Pick<ContainerRuntime, 'stopContainer' | 'stopPodSandbox' | 'containerStatus'>;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  readonly hooks: HookRunner;
}

/** A container to stop and how to stop it. */
export interface KillRequest {
  /** `type://id` */
  readonly id: string;
  readonly name: string;
  /** Text of the event; absent: `Stopping container …`. */
  readonly message?: string;
  readonly reason: KillReason;
  /** Overrides the grace period of the pod. */
  readonly graceSeconds?: number;
  readonly order?: TerminationOrder;
}

/** Time after the grace period at which a hook that still runs is cancelled, ms; by then its container has ended. */
const overrunMs = 60_000;

/**
 * ContainerKiller stops containers and whole pods (R163…R165). Follows `killContainer` and `killPodWithSyncResult`
 * (pkg/kubelet/kuberuntime).
 */
export class ContainerKiller {
  readonly #deps: ContainerKillerDeps;

  constructor(deps: ContainerKillerDeps) {
    this.#deps = deps;
  }

  /**
   * Stops a container: event, preStop hook, wait for its turn, stop (R164). The first three consume the grace period. A container that does
   * not exist counts as stopped.
   *
   * @param pod absent: restored from the container's labels and annotations
   * @throws {AgentError} when the runtime cannot stop the container
   */
  async killContainer(pod: Pod | undefined, request: KillRequest, signal?: AbortSignal): Promise<void> {
    const target = pod ? specOf(pod, request) : await this.#restoreSpec(request.id, signal);
    if (!target) return;
    const { container } = target;
    const message = request.message ?? `Stopping container ${container.name}`;
    containerEvents(this.#deps.recorder, target.pod, container)('Normal', 'Killing', message);
    let grace = request.graceSeconds ?? terminationGracePeriod(target.pod, container, request.reason);
    if (container.lifecycle?.preStop && grace > 0)
      grace -= await this.#preStop({ ...target, id: request.id }, container.lifecycle.preStop, grace);
    if (request.order && grace > 0) grace -= await request.order.waitForTurn(request.name, grace);
    await this.#stop(request.id, stopTimeout(grace), signal);
    request.order?.ended(request.name);
  }

  /** Stops all containers in parallel (sidecars in order), then every sandbox (R163, R165). Failures are in the results. */
  async killPod(
    pod: Pod | undefined,
    running: RuntimePod,
    graceSeconds: number | undefined,
    signal?: AbortSignal,
  ): Promise<SyncResult[]> {
    const { containers } = running;
    const names = new Set(containers.map(({ name }) => name));
    const ordered = pod !== undefined && hasRestartableInitContainer(pod.spec);
    const order = ordered ? new TerminationOrder(pod, names, this.#deps.clock) : undefined;
    const kill = async ({ id, name }: RuntimeContainer): Promise<SyncResult> => {
      const request: KillRequest = {
        id,
        name,
        reason: 'Unknown',
        ...(graceSeconds !== undefined && { graceSeconds }),
        ...(order && { order }),
      };
      return attempt({ action: 'KillContainer', target: name }, 'KillContainerError', () =>
        this.killContainer(pod, request, signal),
      );
    };
    // The last one starts first, as happens with Go: the goroutine that was created last runs first.
    const inTurn = [...containers.slice(-1), ...containers.slice(0, -1)];
    const results = await Promise.all(inTurn.map(kill));
    return [...results, await this.#stopSandboxes(running, signal)];
  }

  async #stopSandboxes({ uid, sandboxes }: RuntimePod, signal: AbortSignal | undefined): Promise<SyncResult> {
    let result: SyncResult = { action: 'KillPodSandbox', target: uid };
    for (const { id } of sandboxes)
      try {
        await this.#deps.runtime.stopPodSandbox({ podSandboxId: runtimeId(id) }, signal && { signal });
      } catch (reason) {
        if (isNotFound(reason)) continue;
        this.#deps.logger.error('sandbox could not be stopped', { sandbox: id, err: messageOf(reason) });
        result = { ...result, reason: 'KillPodSandboxError', message: messageOf(reason) };
      }
    return result;
  }

  /**
   * Runs the preStop hook. @returns seconds that the hook took, rounded down; a hook that exceeds the grace period continues until its
   * container ends
   */
  async #preStop(
    target: { readonly pod: Pod; readonly container: Container; readonly id: string },
    handler: NonNullable<NonNullable<Container['lifecycle']>['preStop']>,
    graceSeconds: number,
  ): Promise<number> {
    const { clock, recorder, logger, hooks } = this.#deps;
    const startedAt = steadyNow(clock);
    const [stopTimer, stopSleep] = [new AbortController(), new AbortController()];
    const failed = (err: unknown): void => {
      if (stopSleep.signal.aborted) return;
      logger.warn('preStop hook failed', {
        pod: podText(target.pod),
        container: target.container.name,
        err: messageOf(err),
      });
      // The error may contain the hook's output, so the event does not include it.
      containerEvents(recorder, target.pod, target.container)(
        'Warning',
        'FailedPreStopHook',
        'PreStopHook failed',
      );
    };
    const run = hooks.run(target, handler, stopSleep.signal).catch(failed);
    await Promise.race([run, clock.sleep(graceSeconds * 1000, stopTimer.signal).catch(() => undefined)]);
    stopTimer.abort();
    if (handler.sleep)
      stopSleep.abort(); // a sleep would only end by time, and its result is not used
    else
      void run.then(
        clock.timer(overrunMs, () => {
          stopSleep.abort();
        }),
      );
    return Math.floor((steadyNow(clock) - startedAt) / 1000);
  }

  async #stop(id: string, timeout: number, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#deps.runtime.stopContainer({ containerId: runtimeId(id), timeout }, signal && { signal });
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  }

  /**
   * Restores what stopping a container needs from its labels and annotations when its pod is unknown (`restoreSpecsFromContainerLabels`).
   */
  async #restoreSpec(
    id: string,
    signal: AbortSignal | undefined,
  ): Promise<{ pod: Pod; container: Container } | undefined> {
    const answer = await this.#deps.runtime
      .containerStatus({ containerId: runtimeId(id) }, signal && { signal })
      .catch((reason: unknown) => {
        if (isNotFound(reason)) return undefined;
        throw reason;
      });
    if (!answer) return undefined;
    const { labels, annotations } = demandStatus(answer.status, 'container');
    const { podName, podNamespace, podUid, containerName } = identityFromLabels(labels);
    const record = recordFromAnnotations(annotations);
    const deletion = record.podDeletionGracePeriodSeconds;
    const grace = record.podTerminationGracePeriodSeconds;
    const metadata = {
      name: podName,
      namespace: podNamespace,
      uid: podUid,
      ...(deletion !== undefined && { deletionGracePeriodSeconds: deletion }),
    };
    const spec = { containers: [], ...(grace !== undefined && { terminationGracePeriodSeconds: grace }) };
    const { ports, preStop } = record;
    const container = {
      name: containerName,
      ...(ports && { ports }),
      ...(preStop && { lifecycle: { preStop } }),
    };
    return { pod: { metadata, spec }, container };
  }
}

function specOf(pod: Pod, { id, name, message = '' }: KillRequest): { pod: Pod; container: Container } {
  const container = findContainer(pod, name);
  if (container) return { pod, container };
  throw new AgentError(
    'internal',
    `failed to get containerSpec "${name}" (id="${id}") in pod "${podText(pod)}" when killing container for reason "${message}"`,
  );
}

/** Runs one part of a sync and returns its result. */
export async function attempt(
  result: SyncResult,
  reason: string,
  act: () => Promise<void>,
): Promise<SyncResult> {
  try {
    await act();
    return result;
  } catch (cause) {
    return { ...result, reason, message: messageOf(cause) };
  }
}
