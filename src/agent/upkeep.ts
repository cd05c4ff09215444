import { statfs } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import { isAborted } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { KubeObject } from '../kube/types.ts';
import { ImageGc } from '../kuberuntime/image-gc.ts';
import type { ImageGcPolicy } from '../kuberuntime/image-gc-decide.ts';
import type { KubeRuntime } from '../kuberuntime/kube-runtime.ts';
import { LogRotation, type LogRotationPolicy } from '../kuberuntime/log-rotation.ts';
import { ContainerState } from '../provider/cri-messages.ts';
import type { ContainerRuntime, ImageService } from '../provider/container-runtime.ts';
import type { PodsController } from './pods-controller.ts';

/** When things of a runtime that nobody needs go. */
export interface UpkeepSettings {
  readonly logs: LogRotationPolicy & { readonly periodMs: number };
  readonly images: ImageGcPolicy;
  /** A directory on the file system that images are on. */
  readonly imageRoot: string;
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
}

/** Kubelet's `ContainerGCPeriod` and `ImageGCPeriod`, ms. */
const periods = { containersMs: 60_000, imagesMs: 300_000 };

/** Kubelet's defaults: one dead container per name stays, however many there are in all. */
const containerPolicy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };

/**
 * Keeps a node with a container runtime tidy until `signal` aborts: dead containers, unused images, logs that grow.
 *
 * Follows kubelet `StartGarbageCollection` and `containerLogManager.Start`.
 */
export async function runUpkeep(
  deps: UpkeepDeps,
  settings: UpkeepSettings,
  signal: AbortSignal,
): Promise<void> {
  const images = imageGc(deps, settings);
  const logs = logRotation(deps, settings.logs);
  await Promise.all([
    every(deps, 'ContainerGCFailed', periods.containersMs, () => collectContainers(deps), signal),
    every(
      deps,
      'ImageGCFailed',
      periods.imagesMs,
      async () => {
        await images.detectImages();
        await images.collect();
      },
      signal,
    ),
    every(deps, undefined, settings.logs.periodMs, () => logs.rotateAll(), signal),
  ]);
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

function collectContainers({ provider, controller, allSourcesReady }: UpkeepDeps): Promise<void> {
  const { podWorkers } = controller.engines;
  return provider.containerGc.collect(containerPolicy, {
    allSourcesReady: allSourcesReady(),
    evictNonDeletedPods: false,
    shouldPodContentBeRemoved: (uid) => podWorkers.shouldPodContentBeRemoved(uid),
    shouldPodRuntimeBeRemoved: (uid) => podWorkers.shouldPodRuntimeBeRemoved(uid),
  });
}

function imageGc(
  { clock, logger, recorder, nodeRef, provider, images }: UpkeepDeps,
  { images: policy, imageRoot }: UpkeepSettings,
): ImageGc {
  return new ImageGc(
    {
      images,
      imagesInUse: () => provider.imagesInUse(),
      imageFs: async () => {
        const { blocks, bavail, bsize } = await statfs(imageRoot);
        return { capacity: blocks * bsize, available: bavail * bsize };
      },
      warn: (reason, message) => {
        recorder.event(nodeRef, 'Warning', reason, message);
      },
      clock,
      logger,
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
