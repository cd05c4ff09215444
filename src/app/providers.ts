import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AgentOptions } from '../agent/agent-options.ts';
import { evictionOptions, withDefaultThresholds } from '../agent/evictions.ts';
import { containerProvider } from '../agent/kuberuntime-provider.ts';
import type { EffectiveOptions } from '../options/load.ts';
import { deadContainers, logUpkeep } from './agent-settings.ts';
import { crashBackOffOf } from './crash-back-off.ts';
import type { AgentInputs } from './agent-inputs.ts';
import { eciParts } from './eci.ts';
import { kubernetesParts } from './kubernetes.ts';
import { ociParts } from './oci.ts';
import { hostAddress } from './own-addresses.ts';
import { providerFactory } from './provider-module.ts';

type OwnParts = Required<Pick<AgentOptions, 'makeProvider' | 'node'>> &
  Pick<AgentOptions, 'eviction' | 'statuses' | 'nodeIPs' | 'mountsVolumes'>;

/** Creates any provider except a container runtime, including that of a user's module; its code is loaded on demand. */
export async function makeProviderOf(
  name: string,
  inputs: Pick<AgentInputs, 'dataDir' | 'settings' | 'load' | 'options'>,
): Promise<OwnParts> {
  const { settings } = inputs;
  const dataDir = inputs.dataDir.path;
  const { kubelet } = settings;
  switch (name) {
    case 'process':
      return processParts(dataDir, settings);
    case 'memory':
      return {
        makeProvider: async ({ clock, logger }) => {
          const { MemoryProvider } = await import('../providers/memory/index.ts');
          const journal = join(dataDir, 'memory-pods.jsonl');
          return new MemoryProvider({ clock, journal, logger, backOff: crashBackOffOf(kubelet) });
        },
        node: { runtimeVersion: () => 'memory://1.0.0' },
        // all immediate effects of a pod's start or end happen within this turn of the event loop
        statuses: { settle: () => nextTurn(), fromWatch: true },
      };
    case 'oci':
      return ociParts(dataDir, settings);
    case 'eci':
      return eciParts(settings, process.env, inputs.options.providerConfig);
    case 'kubernetes':
      return kubernetesParts(settings, process.env, inputs.options.providerConfig);
    default:
      return moduleParts(name, inputs);
  }
}

/** Returns the provider of a user's module. Its factory receives a data directory and the agent's tools. */
function moduleParts(
  name: string,
  { dataDir, settings, load }: Pick<AgentInputs, 'dataDir' | 'settings' | 'load'>,
): OwnParts {
  let runtimeName = 'provider';
  return {
    node: { runtimeVersion: () => `${runtimeName}://0.0.0` },
    makeProvider: async (surroundings) => {
      const make = await providerFactory(name, { cwd: process.cwd(), load });
      const { nodeName } = settings.agent;
      const provider = await make({ ...surroundings, nodeName, dataDir: dataDir.path });
      runtimeName = provider.name;
      return provider;
    },
  };
}

/** Runs containers as local processes; dead ones are cleaned up as a kubelet's are. */
function processParts(dataDir: string, { kubelet, agent }: EffectiveOptions): OwnParts {
  return {
    node: { runtimeVersion: () => 'process://1.0.0' },
    // the owner of a machine that is not only a node decides how full its disk may be
    eviction: evictionOptions(
      kubelet.evictionHard ? withDefaultThresholds(kubelet) : kubelet,
      podLogs(dataDir),
    ),
    makeProvider: async (context) => {
      const { ProcessRuntime, processPowers } = await import('../providers/process/index.ts');
      const { clock, random, logger } = context;
      const settings = { dataDir: join(dataDir, 'processes'), hostIp: hostAddress() };
      const runtime = new ProcessRuntime({ settings, clock, random, logger });
      await runtime.open();
      const make = containerProvider(
        { runtime, images: runtime, powers: processPowers(runtime) },
        {
          runtimeName: 'process',
          podLogsRoot: podLogs(dataDir),
          crashBackoff: crashBackOffOf(kubelet),
          deadInstancesKept: deadContainers(agent).maxPerPodContainer,
        },
        { logs: logUpkeep(kubelet), containers: deadContainers(agent) },
      );
      return make(context);
    },
  };
}

const podLogs = (dataDir: string): string => join(dataDir, 'logs', 'pods');
