import { mkdirSync } from 'node:fs';
import type { AgentOptions } from '../agent/agent-options.ts';
import { kernelCgroupFiles } from '../agent/cgroups/files.ts';
import { detectCgroups } from '../agent/cgroups/host.ts';
import { kuberuntimeProvider } from '../agent/kuberuntime-provider.ts';
import { cgroupOptions, type RuntimeConfiguration, runtimeSettings } from '../agent/runtime-settings.ts';
import type { Surroundings } from '../agent/surroundings.ts';
import { runUpkeep, type UpkeepSettings } from '../agent/upkeep.ts';
import { systemClock } from '../base/clock.ts';
import { durationMs } from '../kube/duration.ts';
import { parseQuantity, valueOf } from '../kube/quantity.ts';
import type { KubeRuntime } from '../kuberuntime/kube-runtime.ts';
import type { HandlerFeatures } from '../providers/cri/index.ts';
import type { EffectiveOptions } from '../options/load.ts';

/** The part of a KubeletConfiguration that says which runtime is asked, and how. */
export type CriSettings = Pick<
  EffectiveOptions['kubelet'],
  | 'containerRuntimeEndpoint'
  | 'runtimeRequestTimeout'
  | 'podLogsDir'
  | 'serializeImagePulls'
  | 'maxParallelImagePulls'
  | 'containerLogMaxSize'
  | 'containerLogMaxFiles'
  | 'containerLogMonitorInterval'
  | 'imageGCHighThresholdPercent'
  | 'imageGCLowThresholdPercent'
  | 'imageMinimumGCAge'
  | 'imageMaximumGCAge'
> &
  RuntimeConfiguration & {
    /** Where log collectors look for links to container logs; default: the kubelet's `ContainerLogsDir`. */
    readonly containerLogsDir?: string;
  };

/** The part of an agent's options that a CRI runtime brings, and its end. */
export interface CriParts
  extends Required<Pick<AgentOptions, 'makeProvider' | 'node' | 'upkeep'>>, Pick<AgentOptions, 'cgroups'> {
  readonly close: () => Promise<void>;
}

/** A provider over a CRI runtime, and what the node tells of that runtime. Nothing is connected before the provider is made. */
export function criParts(settings: CriSettings): CriParts {
  let runtimeVersion = '';
  let provider: KubeRuntime | undefined;
  let handlers: readonly HandlerFeatures[] = [];
  const connected = (async () => {
    const cri = await import('../providers/cri/index.ts');
    const options = { runtimeRequestTimeoutMs: durationMs(settings.runtimeRequestTimeout) };
    return {
      cri,
      runtime: cri.connectCri(settings.containerRuntimeEndpoint, { clock: systemClock }, options),
    };
  })();
  connected.catch(() => undefined); // told by makeProvider
  const node = cgroupsHere();
  const cgroups = cgroupOptions(settings, node);
  return {
    node: {
      runtimeVersion: () => runtimeVersion,
      handlers: () => handlers,
      images: async () => {
        const { cri, runtime } = await connected;
        return cri.nodeImagesOf((await runtime.listImages({})).images ?? []);
      },
    },
    makeProvider: async (surroundings) => {
      const { cri, runtime } = await connected;
      await cri.validateCri(runtime);
      const version = await runtime.version({});
      runtimeVersion = cri.runtimeVersionText(version);
      handlers = cri.handlersOf(await runtime.status({}));
      const powers = {
        onPodEvent: cri.podEventsOf({ runtime, clock: surroundings.clock }),
        runtimeHealth: async (signal: AbortSignal) =>
          cri.runtimeHealthOf(await runtime.status({}, { signal })),
      };
      const { containerLogsDir: containerLogsRoot = '/var/log/containers', podLogsDir } = settings;
      for (const dir of [containerLogsRoot, podLogsDir]) mkdirSync(dir, { recursive: true, mode: 0o755 });
      provider = kuberuntimeProvider(
        surroundings,
        { runtime, images: runtime, powers },
        {
          ...runtimeSettings(settings, { ...node, ...nodeAmounts(surroundings) }),
          runtimeName: version.runtimeName ?? '',
          containerLogsRoot,
          ...runtimeOptions(settings),
        },
      );
      return provider;
    },
    ...(cgroups && { cgroups }),
    upkeep: async (parts, signal) => {
      const { runtime } = await connected;
      if (provider)
        await runUpkeep({ ...parts, provider, runtime, images: runtime }, upkeepSettings(settings), signal);
    },
    close: async () => {
      await (await connected).runtime.close();
    },
  };
}

function runtimeOptions({ podLogsDir, serializeImagePulls, maxParallelImagePulls }: CriSettings): {
  readonly podLogsRoot: string;
  readonly maxParallelImagePulls?: number;
} {
  const parallel = serializeImagePulls ? 1 : maxParallelImagePulls;
  return { podLogsRoot: podLogsDir, ...(parallel !== undefined && { maxParallelImagePulls: parallel }) };
}

/** Where containerd keeps images; another runtime's disk is watched as well as this one stands for it. */
const imageRoot = '/var/lib';

const upkeepSettings = (settings: CriSettings): UpkeepSettings => ({
  logs: {
    maxBytes: valueOf(parseQuantity(settings.containerLogMaxSize)),
    maxFiles: settings.containerLogMaxFiles,
    periodMs: durationMs(settings.containerLogMonitorInterval),
  },
  images: {
    highThresholdPercent: settings.imageGCHighThresholdPercent,
    lowThresholdPercent: settings.imageGCLowThresholdPercent,
    minAgeMs: durationMs(settings.imageMinimumGCAge),
    maxAgeMs: durationMs(settings.imageMaximumGCAge),
  },
  imageRoot,
});

/** How this machine's cgroups are mounted. */
function cgroupsHere(): Pick<Parameters<typeof runtimeSettings>[1], 'files' | 'cgroups'> {
  const host = detectCgroups(kernelCgroupFiles);
  return { files: kernelCgroupFiles, ...(host && { cgroups: host }) };
}

/** What of the machine containers depend on. */
const nodeAmounts = ({
  machine,
  rootDir,
}: Surroundings): Pick<
  Parameters<typeof runtimeSettings>[1],
  'memoryCapacityBytes' | 'swapCapacityBytes' | 'allocatableMemoryBytes' | 'rootDir'
> => ({
  memoryCapacityBytes: machine.machine.memoryCapacity,
  swapCapacityBytes: machine.machine.swapCapacity ?? 0,
  allocatableMemoryBytes: machine.machine.memoryCapacity,
  rootDir,
});
