import { mkdirSync } from 'node:fs';
import type { AgentOptions } from '../agent/agent-options.ts';
import { kuberuntimeProvider } from '../agent/kuberuntime-provider.ts';
import { systemClock } from '../base/clock.ts';
import { durationMs } from '../kube/duration.ts';
import type { EffectiveOptions } from '../options/load.ts';

/** The part of a KubeletConfiguration that says which runtime is asked, and how. */
export type CriSettings = Pick<
  EffectiveOptions['kubelet'],
  | 'containerRuntimeEndpoint'
  | 'runtimeRequestTimeout'
  | 'podLogsDir'
  | 'serializeImagePulls'
  | 'maxParallelImagePulls'
> & {
  /** Where log collectors look for links to container logs; default: the kubelet's `ContainerLogsDir`. */
  readonly containerLogsDir?: string;
};

/** A provider over a CRI runtime, and what the node tells of that runtime. Nothing is connected before the provider is made. */
export function criParts(
  settings: CriSettings,
): Required<Pick<AgentOptions, 'makeProvider' | 'node'>> & { readonly close: () => Promise<void> } {
  let runtimeVersion = '';
  const connected = (async () => {
    const cri = await import('../providers/cri/index.ts');
    const options = { runtimeRequestTimeoutMs: durationMs(settings.runtimeRequestTimeout) };
    return {
      cri,
      runtime: cri.connectCri(settings.containerRuntimeEndpoint, { clock: systemClock }, options),
    };
  })();
  connected.catch(() => undefined); // told by makeProvider
  return {
    node: {
      runtimeVersion: () => runtimeVersion,
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
      const powers = {
        onPodEvent: cri.podEventsOf({ runtime, clock: surroundings.clock }),
        runtimeHealth: async (signal: AbortSignal) =>
          cri.runtimeHealthOf(await runtime.status({}, { signal })),
      };
      const { containerLogsDir: containerLogsRoot = '/var/log/containers', podLogsDir } = settings;
      for (const dir of [containerLogsRoot, podLogsDir]) mkdirSync(dir, { recursive: true, mode: 0o755 });
      return kuberuntimeProvider(
        surroundings,
        { runtime, images: runtime, powers },
        { runtimeName: version.runtimeName ?? '', containerLogsRoot, ...runtimeOptions(settings) },
      );
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
