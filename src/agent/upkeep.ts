import type { Clock } from '../base/clock.ts';
import { isAborted } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { EvictionDeps } from '../eviction/manager.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { KubeObject } from '../kube/types.ts';
import type { ContainerGcPolicy } from '../kuberuntime/container-gc-decide.ts';
import { ImageGc } from '../kuberuntime/image-gc.ts';
import type { ImageGcPolicy } from '../kuberuntime/image-gc-decide.ts';
import type { KubeRuntime } from '../kuberuntime/kube-runtime.ts';
import { LogRotation, type LogRotationPolicy } from '../kuberuntime/log-rotation.ts';
import { ContainerState } from '../provider/cri-messages.ts';
import type { ContainerRuntime, ImageService } from '../provider/container-runtime.ts';
import type { PodsController } from './pods-controller.ts';
import { type RuntimeFileSystems, runtimeFileSystems } from './runtime-file-systems.ts';

/** When things of a runtime that nobody needs go. */
export interface UpkeepSettings {
  readonly logs: LogRotationPolicy & { readonly periodMs: number };
  /** Which dead containers stay; default: the newest of each name, however many there are in all. */
  readonly containers?: ContainerGcPolicy;
  /** Absent: images are the host's own files, not the agent's to remove. */
  readonly images?: ImageGcPolicy;
}

export interface UpkeepDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly nodeRef: KubeObject;
  readonly provider: KubeRuntime;
  readonly runtime: Pick<ContainerRuntime, 'listContainers' | 'containerStatus'>;
  readonly images: ImageService;
  readonly controller: Pick<PodsController, 'engines'>;
  readonly allSourcesReady: () => boolean;
  /** Counts images that are removed; absent: nobody does. */
  readonly imageRemoved?: (why: 'age' | 'space') => void;
  /** Told after image collection; see {@link ImageGc}. */
  readonly afterImageGc?: (left: ReadonlySet<string>, beganAt: number) => void;
}

/** Kubelet's `ContainerGCPeriod` and `ImageGCPeriod`, ms. */
const periods = { containersMs: 60_000, imagesMs: 300_000 };

/** Kubelet's defaults: one dead container per name stays, however many there are in all. */
const containerPolicy: ContainerGcPolicy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };

/** What runs beside the controller, and what it does when the node is short of something. */
export interface Upkeep {
  /** Until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** What the node can give up before a pod must go. */
  readonly reclaim?: EvictionDeps['reclaim'];
  /** Where images and containers lie; absent: with the node's own files. */
  readonly fileSystems?: (signal?: AbortSignal) => Promise<RuntimeFileSystems>;
}

/**
 * Keeps a node with a container runtime tidy: dead containers, unused images, logs that grow.
 *
 * Follows kubelet `StartGarbageCollection` and `containerLogManager.Start`.
 */
export function runtimeUpkeep(deps: UpkeepDeps, settings: UpkeepSettings): Upkeep {
  const logs = logRotation(deps, settings.logs);
  const { containers = containerPolicy } = settings;
  const images = settings.images && imageUpkeep(deps, settings.images);
  return {
    run: async (signal) => {
      await Promise.all([
        every(
          deps,
          'ContainerGCFailed',
          periods.containersMs,
          () => collectContainers(deps, containers, false),
          signal,
        ),
        every(deps, undefined, settings.logs.periodMs, () => logs.rotateAll(), signal),
        images?.run(signal),
      ]);
    },
    reclaim: { deadContainers: () => collectContainers(deps, containers, true), ...images?.reclaim },
    ...(images && { fileSystems: images.fileSystems }),
  };
}

function imageUpkeep(deps: UpkeepDeps, policy: ImageGcPolicy): Required<Upkeep> {
  const images = imageGc(deps, policy);
  const collect = async (): Promise<void> => {
    await images.detectImages();
    await images.collect();
  };
  return {
    run: (signal) => every(deps, 'ImageGCFailed', periods.imagesMs, collect, signal),
    reclaim: { unusedImages: (signal) => images.deleteUnusedImages(signal && { signal }) },
    fileSystems: (signal) => runtimeFileSystems(deps.images, signal),
  };
}

// eslint-disable-next-line @typescript-eslint/max-params -- a loop: who, what is said of a failure, how often, what, until when
async function every(
  deps: UpkeepDeps,
  failure: string | undefined,
  periodMs: number,
  act: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await deps.clock.sleep(periodMs, signal).catch(() => undefined);
    if (isAborted(signal)) return;
    try {
      await act();
    } catch (reason) {
      deps.logger.error('upkeep failed', { what: failure ?? 'log rotation', err: messageOf(reason) });
      if (failure !== undefined) deps.recorder.event(deps.nodeRef, 'Warning', failure, messageOf(reason));
    }
  }
}

/** @param evictNonDeletedPods the node is short: dead containers of pods that live on go as well */
function collectContainers(
  { provider, controller, allSourcesReady }: UpkeepDeps,
  policy: ContainerGcPolicy,
  evictNonDeletedPods: boolean,
): Promise<void> {
  const { podWorkers } = controller.engines;
  return provider.containerGc.collect(policy, {
    allSourcesReady: allSourcesReady(),
    evictNonDeletedPods,
    shouldPodContentBeRemoved: (uid) => podWorkers.shouldPodContentBeRemoved(uid),
    shouldPodRuntimeBeRemoved: (uid) => podWorkers.shouldPodRuntimeBeRemoved(uid),
  });
}

function imageGc(
  { clock, logger, recorder, nodeRef, provider, images, afterImageGc, imageRemoved }: UpkeepDeps,
  policy: ImageGcPolicy,
): ImageGc {
  return new ImageGc(
    {
      images,
      imagesInUse: () => provider.imagesInUse(),
      imageFs: async () => {
        const { capacityBytes, availableBytes } = (await runtimeFileSystems(images)).images;
        return { capacity: capacityBytes, available: availableBytes };
      },
      warn: (reason, message) => {
        recorder.event(nodeRef, 'Warning', reason, message);
      },
      clock,
      logger,
      ...(imageRemoved && { removed: imageRemoved }),
      ...(afterImageGc && { afterCollect: afterImageGc }),
    },
    policy,
  );
}

function logRotation(
  { clock, logger, runtime, provider }: UpkeepDeps,
  policy: LogRotationPolicy,
): LogRotation {
  const runningContainers = async (): Promise<{ id: string; logPath: string }[]> => {
    const { containers = [] } = await runtime.listContainers({
      filter: { state: { state: ContainerState.CONTAINER_RUNNING } },
    });
    const statuses = await Promise.all(
      containers.map(({ id = '' }) => runtime.containerStatus({ containerId: id })),
    );
    return statuses.flatMap(({ status }) =>
      status?.id && status.logPath ? [{ id: status.id, logPath: status.logPath }] : [],
    );
  };
  return new LogRotation(
    { clock, logger, runningContainers, reopen: (id) => provider.reopenLog(id) },
    policy,
  );
}
