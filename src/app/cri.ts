import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { appArmorFault } from '../admission/admit-result.ts';
import type { AgentOptions, ProviderWithUpkeep } from '../agent/agent-options.ts';
import { enforcesAppArmor } from '../agent/apparmor-host.ts';
import { kernelCgroupFiles } from '../containers/cm/files.ts';
import { detectCgroups } from '../containers/cm/host.ts';
import { type EvictionConfiguration, evictionOptions, withDefaultThresholds } from '../agent/evictions.ts';
import { openKernelLog } from '../node/kernel-log.ts';
import { kuberuntimeProvider } from '../agent/kuberuntime-provider.ts';
import { cgroupOptions, type RuntimeConfiguration, runtimeSettings } from './runtime-settings.ts';
import type { ProviderContext } from '../agent/provider-context.ts';
import { runtimeUpkeep, type UpkeepSettings } from '../agent/garbage-collection.ts';
import { systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Tracer } from '../base/tracing.ts';
import { durationMs } from '../kube/duration.ts';
import type { CriRuntime, HandlerFeatures } from '../providers/cri/index.ts';
import type { EffectiveOptions } from '../options/load.ts';
import { deadContainers, type DeadContainerSettings, logUpkeep } from './agent-settings.ts';
import { crashBackOffOf, type CrashSettings } from './crash-back-off.ts';
import { credentialPlugins, type PluginFolders, pullParts, type PullSettings } from './credentials.ts';

/** The KubeletConfiguration settings that select and configure the runtime. */
export type CriSettings = Pick<
  EffectiveOptions['kubelet'],
  | 'containerRuntimeEndpoint'
  | 'imageServiceEndpoint'
  | 'podCIDR'
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
  | 'mergeDefaultEvictionSettings'
  | 'volumeStatsAggPeriod'
  | 'userNamespaces'
> &
  CrashSettings &
  EvictionConfiguration &
  RuntimeConfiguration &
  PullSettings &
  PluginFolders &
  DeadContainerSettings & {
    /** Directory in which log collectors look for links to container logs; default: the kubelet's `ContainerLogsDir`. */
    readonly containerLogsDir?: string;
  } & Partial<Pick<EffectiveOptions['agent'], 'maxParallelStarts'>>;

/** The agent options that a CRI runtime determines, and a function that disconnects it. */
export interface CriParts
  extends
    Required<
      Pick<
        AgentOptions,
        | 'appArmorFault'
        | 'makeProvider'
        | 'node'
        | 'podResources'
        | 'eviction'
        | 'mountsVolumes'
        | 'userNamespaces'
      >
    >,
    Pick<AgentOptions, 'cgroups'> {
  readonly close: () => Promise<void>;
}

/** Returns a provider over a CRI runtime, and the runtime's facts for the node. Nothing is connected before the provider is created. */
export function criParts(settings: CriSettings, tracer?: Tracer): CriParts {
  const facts = new RuntimeFacts();
  const plugins = credentialPlugins(settings);
  const connected = connect(settings, tracer);
  connected.catch(() => undefined); // reported by makeProvider
  const node = cgroupsHere();
  const enforced = enforcesAppArmor();
  const cgroups = cgroupOptions(settings, node);
  return {
    node: {
      runtimeVersion: () => facts.version,
      handlers: () => facts.handlers,
      runtimeFeatures: () => facts.features,
      images: async () => {
        const { cri, images } = await connected;
        return cri.nodeImagesOf((await images.listImages({})).images ?? []);
      },
      podCidrs: async (podCidr) => tellPodCidr((await connected).runtime, podCidr),
    },
    makeProvider: async (context) => {
      const connection = await connected;
      await facts.learn(connection);
      return makeCriProvider(context, connection, settings, { node, plugins, runtimeName: facts.name });
    },
    ...(cgroups && {
      cgroups: async () => {
        const { cri, runtime } = await connected;
        await cri.validateCri(runtime);
        return { ...cgroups, driver: (await cri.cgroupDriverOf(runtime)) ?? cgroups.driver };
      },
    }),
    mountsVolumes: true,
    podResources: true,
    appArmorFault: (pod) => appArmorFault(pod, enforced),
    userNamespaces: settings.userNamespaces ?? {},
    eviction: evictionOptions(withDefaultThresholds(settings), settings.podLogsDir),
    close: async () => {
      const { runtime, images } = await connected;
      await Promise.all([...new Set([runtime, images])].map((each) => each.close()));
    },
  };
}

/** Creates the log directories. @returns the directory for log collectors */
function logFolders({ containerLogsDir = '/var/log/containers', podLogsDir }: CriSettings): string {
  for (const dir of [containerLogsDir, podLogsDir]) mkdirSync(dir, { recursive: true, mode: 0o755 });
  return containerLogsDir;
}

interface Connected {
  readonly cri: typeof import('../providers/cri/index.ts');
  readonly runtime: CriRuntime;
  /** The runtime service, unless images have a service of their own. */
  readonly images: CriRuntime;
}

async function tellPodCidr(runtime: CriRuntime, podCidr: string): Promise<void> {
  await runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr } } });
}

async function connect(settings: CriSettings, tracer: Tracer | undefined): Promise<Connected> {
  const cri = await import('../providers/cri/index.ts');
  const deps = { clock: systemClock, ...(tracer && { tracer }) };
  const options = { runtimeRequestTimeoutMs: durationMs(settings.runtimeRequestTimeout) };
  const { containerRuntimeEndpoint, imageServiceEndpoint = '' } = settings;
  const runtime = cri.connectCri(containerRuntimeEndpoint, deps, options);
  const images =
    imageServiceEndpoint === '' || imageServiceEndpoint === containerRuntimeEndpoint
      ? runtime
      : cri.connectCri(imageServiceEndpoint, deps, options);
  return { cri, runtime, images };
}

/** RuntimeFacts holds what the runtime reports about itself, for the node's status; empty until it was queried. */
class RuntimeFacts {
  name = '';
  /** `containerd://1.7.0` */
  version = '';
  handlers: readonly HandlerFeatures[] = [];
  features: ReturnType<Connected['cri']['featuresOf']>;

  /** Queries the runtime. @throws {AgentError} when it does not respond or is unsupported */
  async learn({ cri, runtime }: Connected): Promise<void> {
    await cri.validateCri(runtime);
    const status = await runtime.status({});
    const version = await runtime.version({});
    this.name = version.runtimeName ?? '';
    this.version = cri.runtimeVersionText(version);
    this.handlers = cri.handlersOf(status);
    this.features = cri.featuresOf(status);
  }
}

/** @throws {AgentError} when the runtime does not respond or is unsupported */
async function makeCriProvider(
  context: ProviderContext,
  { cri, runtime, images }: Connected,
  settings: CriSettings,
  {
    node,
    plugins,
    runtimeName,
  }: {
    readonly node: ReturnType<typeof cgroupsHere>;
    readonly plugins: ReturnType<typeof credentialPlugins>;
    readonly runtimeName: string;
  },
): Promise<ProviderWithUpkeep> {
  const powers = {
    onPodEvent: cri.podEventsOf({ runtime, clock: context.clock }),
    runtimeHealth: async (signal: AbortSignal) => cri.runtimeHealthOf(await runtime.status({}, { signal })),
  };
  const containerLogsRoot = logFolders(settings);
  const { podCIDR = '' } = settings;
  if (podCIDR !== '')
    await tellPodCidr(runtime, podCIDR).catch((reason: unknown) => {
      context.logger.error('cannot set the pod CIDR of the runtime', { err: messageOf(reason) });
    });
  const pulls = pullParts(settings, plugins, context, (await images.listImages({})).images ?? []);
  const provider = kuberuntimeProvider(
    context,
    { runtime, images, powers, ...pulls },
    {
      ...runtimeSettings(settings, { ...node, ...nodeAmounts(context) }),
      runtimeName,
      containerLogsRoot,
      crashBackoff: crashBackOffOf(settings),
      deadInstancesKept: deadContainers(settings).maxPerPodContainer,
      ...runtimeOptions(settings),
    },
  );
  const upkeep = runtimeUpkeep(
    { ...context, ...pulls, imageRemoved: context.starts.imageRemoved, provider, runtime, images },
    upkeepSettings(settings),
  );
  return { provider, upkeep };
}

function runtimeOptions({
  podLogsDir,
  serializeImagePulls,
  maxParallelImagePulls,
  maxParallelStarts: calls = 0,
  featureGates,
}: CriSettings): {
  readonly podLogsRoot: string;
  readonly maxParallelStarts?: number;
  readonly maxParallelImagePulls?: number;
  readonly features?: Readonly<Record<string, boolean>>;
} {
  const parallel = serializeImagePulls ? 1 : maxParallelImagePulls;
  return {
    podLogsRoot: podLogsDir,
    ...(parallel !== undefined && { maxParallelImagePulls: parallel }),
    ...(calls >= 0 && { maxParallelStarts: calls || Math.max(4, 3 * availableParallelism()) }),
    ...(featureGates && { features: featureGates }),
  };
}

const upkeepSettings = (settings: CriSettings): UpkeepSettings => ({
  logs: logUpkeep(settings),
  containers: deadContainers(settings),
  openKernelLog,
  images: {
    highThresholdPercent: settings.imageGCHighThresholdPercent,
    lowThresholdPercent: settings.imageGCLowThresholdPercent,
    minAgeMs: durationMs(settings.imageMinimumGCAge),
    maxAgeMs: durationMs(settings.imageMaximumGCAge),
  },
});

/** Returns how this machine's cgroups are mounted. */
function cgroupsHere(): Pick<Parameters<typeof runtimeSettings>[1], 'files' | 'cgroups'> {
  const host = detectCgroups(kernelCgroupFiles);
  return { files: kernelCgroupFiles, ...(host && { cgroups: host }) };
}

/** Returns the machine's amounts that containers depend on. */
const nodeAmounts = ({
  machine,
  rootDir,
}: ProviderContext): Pick<
  Parameters<typeof runtimeSettings>[1],
  'memoryCapacityBytes' | 'swapCapacityBytes' | 'allocatableMemoryBytes' | 'rootDir'
> => ({
  memoryCapacityBytes: machine.machine.memoryCapacity,
  swapCapacityBytes: machine.machine.swapCapacity ?? 0,
  allocatableMemoryBytes: machine.machine.memoryCapacity,
  rootDir,
});
