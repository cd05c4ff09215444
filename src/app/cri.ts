import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { appArmorFault } from '../admission/admit-result.ts';
import type { AgentOptions } from '../agent/agent-options.ts';
import { enforcesAppArmor } from '../agent/apparmor-host.ts';
import { kernelCgroupFiles } from '../containers/cm/files.ts';
import { detectCgroups } from '../containers/cm/host.ts';
import { type EvictionConfiguration, evictionOptions, withDefaultThresholds } from '../agent/evictions.ts';
import { openKernelLog } from '../node/kernel-log.ts';
import { kuberuntimeProvider } from '../agent/kuberuntime-provider.ts';
import { cgroupOptions, type RuntimeConfiguration, runtimeSettings } from './runtime-settings.ts';
import type { Surroundings } from '../agent/provider-context.ts';
import { runtimeUpkeep, type UpkeepSettings } from '../agent/garbage-collection.ts';
import { systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Tracer } from '../base/tracing.ts';
import { durationMs } from '../kube/duration.ts';
import type { KubeRuntime } from '../containers/kuberuntime/kube-runtime.ts';
import type { CriRuntime, HandlerFeatures } from '../providers/cri/index.ts';
import type { EffectiveOptions } from '../options/load.ts';
import { deadContainers, type DeadContainerSettings, logUpkeep } from './agent-settings.ts';
import { crashBackOffOf, type CrashSettings } from './crash-back-off.ts';
import {
  credentialPlugins,
  type PluginFolders,
  type PullParts,
  pullParts,
  type PullSettings,
} from './credentials.ts';

/** The part of a KubeletConfiguration that says which runtime is asked, and how. */
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
    /** Where log collectors look for links to container logs; default: the kubelet's `ContainerLogsDir`. */
    readonly containerLogsDir?: string;
  } & Partial<Pick<EffectiveOptions['agent'], 'maxParallelStarts'>>;

/** The part of an agent's options that a CRI runtime brings, and its end. */
export interface CriParts
  extends
    Required<
      Pick<
        AgentOptions,
        | 'appArmorFault'
        | 'makeProvider'
        | 'node'
        | 'podResources'
        | 'upkeep'
        | 'eviction'
        | 'mountsVolumes'
        | 'userNamespaces'
      >
    >,
    Pick<AgentOptions, 'cgroups'> {
  readonly close: () => Promise<void>;
}

/** A provider over a CRI runtime, and what the node tells of that runtime. Nothing is connected before the provider is made. */
export function criParts(settings: CriSettings, tracer?: Tracer): CriParts {
  let made: MadeProvider | undefined;
  const plugins = credentialPlugins(settings);
  const connected = connect(settings, tracer);
  connected.catch(() => undefined); // told by makeProvider
  const node = cgroupsHere();
  const enforced = enforcesAppArmor();
  const cgroups = cgroupOptions(settings, node);
  return {
    node: {
      runtimeVersion: () => made?.runtimeVersion ?? '',
      handlers: () => made?.handlers ?? [],
      runtimeFeatures: () => made?.runtimeFeatures,
      images: async () => {
        const { cri, images } = await connected;
        return cri.nodeImagesOf((await images.listImages({})).images ?? []);
      },
      podCidrs: async (podCidr) => tellPodCidr((await connected).runtime, podCidr),
    },
    makeProvider: async (surroundings) => {
      made = await makeCriProvider(surroundings, await connected, settings, { node, plugins });
      return made.provider;
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
    upkeep: (parts) => {
      if (!made) throw new AgentError('internal', 'the provider is made before its upkeep');
      const { provider, runtime, images, pulls } = made;
      return runtimeUpkeep({ ...parts, ...pulls, provider, runtime, images }, upkeepSettings(settings));
    },
    close: async () => {
      const { runtime, images } = await connected;
      await Promise.all([...new Set([runtime, images])].map((each) => each.close()));
    },
  };
}

/** Makes the folders of logs. @returns where log collectors look */
function logFolders({ containerLogsDir = '/var/log/containers', podLogsDir }: CriSettings): string {
  for (const dir of [containerLogsDir, podLogsDir]) mkdirSync(dir, { recursive: true, mode: 0o755 });
  return containerLogsDir;
}

interface Connected {
  readonly cri: typeof import('../providers/cri/index.ts');
  readonly runtime: CriRuntime;
  /** The same, unless images have a service of their own. */
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

interface MadeProvider {
  readonly provider: KubeRuntime;
  readonly runtime: CriRuntime;
  readonly images: CriRuntime;
  readonly pulls: PullParts;
  /** `containerd://1.7.0` */
  readonly runtimeVersion: string;
  readonly handlers: readonly HandlerFeatures[];
  readonly runtimeFeatures: ReturnType<Connected['cri']['featuresOf']>;
}

/** @throws {AgentError} the runtime does not answer, or is not one that can be used */
async function makeCriProvider(
  surroundings: Surroundings,
  { cri, runtime, images }: Connected,
  settings: CriSettings,
  { node, plugins }: { node: ReturnType<typeof cgroupsHere>; plugins: ReturnType<typeof credentialPlugins> },
): Promise<MadeProvider> {
  await cri.validateCri(runtime);
  const version = await runtime.version({});
  const status = await runtime.status({});
  const powers = {
    onPodEvent: cri.podEventsOf({ runtime, clock: surroundings.clock }),
    runtimeHealth: async (signal: AbortSignal) => cri.runtimeHealthOf(await runtime.status({}, { signal })),
  };
  const containerLogsRoot = logFolders(settings);
  const { podCIDR = '' } = settings;
  if (podCIDR !== '')
    await tellPodCidr(runtime, podCIDR).catch((reason: unknown) => {
      surroundings.logger.error('pod CIDR could not be told to the runtime', { err: messageOf(reason) });
    });
  const pulls = pullParts(settings, plugins, surroundings, (await images.listImages({})).images ?? []);
  const provider = kuberuntimeProvider(
    surroundings,
    { runtime, images, powers, ...pulls },
    {
      ...runtimeSettings(settings, { ...node, ...nodeAmounts(surroundings) }),
      runtimeName: version.runtimeName ?? '',
      containerLogsRoot,
      crashBackoff: crashBackOffOf(settings),
      deadInstancesKept: deadContainers(settings).maxPerPodContainer,
      ...runtimeOptions(settings),
    },
  );
  return {
    provider,
    runtime,
    images,
    pulls,
    handlers: cri.handlersOf(status),
    runtimeFeatures: cri.featuresOf(status),
    runtimeVersion: cri.runtimeVersionText(version),
  };
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
