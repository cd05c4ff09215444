import { join } from 'node:path';
import type { AgentOptions, ProviderWithUpkeep } from '../agent/agent-options.ts';
import { evictionOptions, withDefaultThresholds } from '../agent/evictions.ts';
import { runtimeUpkeep } from '../agent/garbage-collection.ts';
import { kuberuntimeProvider } from '../agent/kuberuntime-provider.ts';
import type { ProviderContext } from '../agent/provider-context.ts';
import { AgentError } from '../base/errors.ts';
import { durationMs } from '../kube/duration.ts';
import type { EffectiveOptions } from '../options/load.ts';
import type { OciRuntime } from '../providers/oci/index.ts';
import { deadContainers, logUpkeep } from './agent-settings.ts';
import { crashBackOffOf } from './crash-back-off.ts';
import { credentialPlugins, pullParts } from './credentials.ts';
import { ociDir } from './oci-dir.ts';
import { hostAddress } from './own-addresses.ts';

type OciParts = Required<Pick<AgentOptions, 'makeProvider' | 'node' | 'eviction'>> &
  Pick<AgentOptions, 'mountsVolumes'>;

/** The label of a node that says how its containers are isolated. */
const isolationLabel = 'node.podtender.io/isolation';

/** The label of a node with the cgroup controllers that limit its containers, such as `cpu-memory-pids`; `none` without any. */
const limitsLabel = 'node.podtender.io/limits';

/**
 * Returns the provider of images without a container runtime. The isolation is detected at once, so that the Node states it.
 *
 * @throws {AgentError} `failed_precondition` when the machine has no isolation of the configured kind
 */
export async function ociParts(dataDir: string, settings: EffectiveOptions): Promise<OciParts> {
  const { delegatedHere, detectIsolation, isolationKinds } = await import('../providers/oci/index.ts');
  const { kubelet, agent } = settings;
  const { ociIsolation: requested } = agent;
  const kind = isolationKinds.find((one) => one === requested);
  if (kind === undefined && requested !== 'auto')
    throw new AgentError(
      'invalid_argument',
      `--oci-isolation ${requested}: it is auto, ${isolationKinds.join(', ')}`,
    );
  const uid = process.getuid?.() ?? 0;
  const dir = ociDir(dataDir);
  const isolation = await detectIsolation({
    kind: kind ?? 'auto',
    dir: join(dir, 'probe'),
    uid,
    shell: '/bin/sh',
  });
  const podLogs = join(dataDir, 'logs', 'pods');
  let opened: OciRuntime | undefined;
  return {
    node: {
      runtimeVersion: () => 'oci://1.0.0',
      labels: {
        ...agent.nodeLabels,
        [isolationLabel]: isolation.kind,
        [limitsLabel]: delegatedHere().controllers.join('-') || 'none',
      },
      images: async () =>
        (opened?.store.list() ?? []).map(({ tags, digests, size }) => ({ tags, digests, size })),
    },
    mountsVolumes: isolation.kind === 'namespaces' && !isolation.rootless,
    eviction: evictionOptions(kubelet.evictionHard ? withDefaultThresholds(kubelet) : kubelet, podLogs),
    makeProvider: async (context) => {
      const [{ openOciRuntime, pullInto }, { registries }] = await Promise.all([
        import('../providers/oci/index.ts'),
        import('./registries.ts'),
      ]);
      const { clock, random, logger } = context;
      const oci = await openOciRuntime({
        settings: {
          dataDir: dir,
          hostIp: hostAddress(),
          isolation: isolation.kind,
          podPidsLimit: kubelet.podPidsLimit,
        },
        clock,
        random,
        logger,
        pull: (store) => pullInto(store, { ...registries(agent.ociRegistryConfig), clock }),
      });
      opened = oci;
      return providerOf(context, oci, { ...settings, podLogs });
    },
  };
}

/** Returns the pod provider over the runtime, with the upkeep of its logs, containers and images. */
async function providerOf(
  context: ProviderContext,
  { runtime, powers }: OciRuntime,
  { kubelet, agent, podLogs }: EffectiveOptions & { readonly podLogs: string },
): Promise<ProviderWithUpkeep> {
  const images = (await runtime.listImages({})).images ?? [];
  const pulls = pullParts(kubelet, credentialPlugins(agent), context, images);
  const parallel = kubelet.serializeImagePulls ? 1 : kubelet.maxParallelImagePulls;
  const provider = kuberuntimeProvider(
    context,
    { runtime, images: runtime, powers, ...pulls },
    {
      runtimeName: 'oci',
      podLogsRoot: podLogs,
      crashBackoff: crashBackOffOf(kubelet),
      deadInstancesKept: deadContainers(agent).maxPerPodContainer,
      ...(parallel !== undefined && { maxParallelImagePulls: parallel }),
      ...(kubelet.featureGates && { features: kubelet.featureGates }),
    },
  );
  const { imageRemoved } = context.starts;
  const upkeep = runtimeUpkeep(
    { ...context, ...pulls, imageRemoved, provider, runtime, images: runtime },
    {
      logs: logUpkeep(kubelet),
      containers: deadContainers(agent),
      images: {
        highThresholdPercent: kubelet.imageGCHighThresholdPercent,
        lowThresholdPercent: kubelet.imageGCLowThresholdPercent,
        minAgeMs: durationMs(kubelet.imageMinimumGCAge),
        maxAgeMs: durationMs(kubelet.imageMaximumGCAge),
      },
    },
  );
  return { provider, upkeep };
}
