import type { Clock } from '../base/clock.ts';
import { isAborted } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { EvictionDeps } from '../eviction/manager.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { KubeObject } from '../kube/types.ts';
import type { ContainerGcPolicy } from '../containers/kuberuntime/gc/container-gc-decide.ts';
import { ImageGc } from '../containers/images/image-gc.ts';
import type { ImageGcPolicy } from '../containers/images/image-gc-decide.ts';
import type { KubeRuntime } from '../containers/kuberuntime/kube-runtime.ts';
import { LogRotation, type LogRotationPolicy } from '../containers/logs/log-rotation.ts';
import { OomParser, systemOomMessage } from '../node/oom-watcher.ts';
import { ContainerState } from '../provider/cri-messages.ts';
import type { ContainerRuntime, ImageService } from '../provider/container-runtime.ts';
import type { KernelLog } from '../node/kernel-log.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import { type RuntimeFileSystems, runtimeFileSystems } from '../containers/stats/runtime-file-systems.ts';

/** The settings for the garbage collection of a runtime. */
export interface UpkeepSettings {
  readonly logs: LogRotationPolicy & { readonly periodMs: number };
  /** The policy for dead containers. Default: keeps the newest one of each name, without a total limit. */
  readonly containers?: ContainerGcPolicy;
  /** The policy for images; absent when images are not the agent's to remove. */
  readonly images?: ImageGcPolicy;
  /** Opens the kernel log, to report when the machine runs out of memory; absent when that is not reported. */
  readonly openKernelLog?: () => Promise<KernelLog>;
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
  /** Counts removed images, for metrics. */
  readonly imageRemoved?: (why: 'age' | 'space') => void;
  /** Called after an image collection; see {@link ImageGc}. */
  readonly afterImageGc?: (left: ReadonlySet<string>, beganAt: number) => void;
}

/** Kubelet's `ContainerGCPeriod` and `ImageGCPeriod`, ms. */
const periods = { containersMs: 60_000, imagesMs: 300_000, kernelLogMs: 10_000 };

/** The kubelet's defaults: keeps one dead container per name, without a total limit. */
const containerPolicy: ContainerGcPolicy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };

/** The background work of a provider, and its part in eviction. */
export interface Upkeep {
  /** Runs until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Reclaims resources of the node before a pod is evicted. */
  readonly reclaim?: EvictionDeps['reclaim'];
  /** The file systems of images and containers; absent when they are on the node's file system. */
  readonly fileSystems?: (signal?: AbortSignal) => Promise<RuntimeFileSystems>;
}

/**
 * Makes the garbage collection of a container runtime: dead containers, unused images, and log rotation.
 *
 * Follows kubelet `StartGarbageCollection` and `containerLogManager.Start`.
 */
export function runtimeUpkeep(deps: UpkeepDeps, settings: UpkeepSettings): Upkeep {
  const logs = logRotation(deps, settings.logs);
  const { containers = containerPolicy } = settings;
  const images = settings.images && imageUpkeep(deps, settings.images);
  const collection: Chore = {
    what: 'container collection',
    failure: 'ContainerGCFailed',
    periodMs: periods.containersMs,
    act: () => collectContainers(deps, containers, false),
  };
  const rotation: Chore = {
    what: 'log rotation',
    periodMs: settings.logs.periodMs,
    act: () => logs.rotateAll(),
  };
  return {
    run: async (signal) => {
      await Promise.all([
        every(deps, collection, signal),
        every(deps, rotation, signal),
        images?.run(signal),
        settings.openKernelLog && watchOoms(deps, settings.openKernelLog, signal),
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
    run: (signal) => {
      const chore = { what: 'image collection', failure: 'ImageGCFailed', periodMs: periods.imagesMs };
      return every(deps, { ...chore, act: collect }, signal);
    },
    reclaim: { unusedImages: (signal) => images.deleteUnusedImages(signal && { signal }) },
    fileSystems: (signal) => runtimeFileSystems(deps.images, signal),
  };
}

/** A periodic task. */
interface Chore {
  /** The name for the log. */
  readonly what: string;
  /** The reason of the Event for a failure; absent for no Event. */
  readonly failure?: string;
  readonly periodMs: number;
  readonly act: () => Promise<void>;
}

async function every(
  { clock, logger, recorder, nodeRef }: UpkeepDeps,
  { what, failure, periodMs, act }: Chore,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(periodMs, signal).catch(() => undefined);
    if (isAborted(signal)) return;
    try {
      await act();
    } catch (reason) {
      logger.error('periodic task failed', { what, err: messageOf(reason) });
      if (failure !== undefined) recorder.event(nodeRef, 'Warning', failure, messageOf(reason));
    }
  }
}

/** Records an Event when the machine itself, rather than a pod with a limit, runs out of memory. Follows kubelet `oomWatcher`. */
async function watchOoms(
  deps: UpkeepDeps,
  open: () => Promise<KernelLog>,
  signal: AbortSignal,
): Promise<void> {
  const { logger, recorder, nodeRef } = deps;
  const parser = new OomParser();
  let log: KernelLog;
  try {
    log = await open();
  } catch (reason) {
    logger.info('kernel log cannot be read: SystemOOM events are not recorded', {
      err: messageOf(reason),
    });
    return;
  }
  const look = async (): Promise<void> => {
    for (const line of await log.read()) {
      const kill = parser.feed(line);
      if (kill?.cgroup === '/') recorder.event(nodeRef, 'Warning', 'SystemOOM', systemOomMessage(kill));
    }
  };
  await every(deps, { what: "the kernel's log", periodMs: periods.kernelLogMs, act: look }, signal);
  log.close();
}

/** Removes dead containers. @param evictNonDeletedPods also those of pods that still run, because the node is short of disk space */
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
