import { join } from 'node:path';
import { networkInterfaces } from 'node:os';
import type { AgentOptions } from '../agent/agent-options.ts';
import { evictionOptions, withDefaultThresholds } from '../agent/evictions.ts';
import { kuberuntimeProvider } from '../agent/kuberuntime-provider.ts';
import type { EffectiveOptions } from '../options/load.ts';
import type { UpOptions } from './running.ts';

type MakeProvider = AgentOptions['makeProvider'];

/** How each provider that the command knows is made; its code is loaded only when it is asked for. */
export function makeProviderOf(
  name: Exclude<UpOptions['provider'], 'cri'>,
  dataDir: string,
  kubelet: EffectiveOptions['kubelet'],
): Required<Pick<AgentOptions, 'makeProvider' | 'node'>> & Pick<AgentOptions, 'eviction'> {
  switch (name) {
    case 'process':
      return {
        makeProvider: processProvider(dataDir),
        node: { runtimeVersion: () => 'process://1.0.0' },
        // a machine that is not only a node decides by itself how full its disk may be
        eviction: evictionOptions(
          kubelet.evictionHard ? withDefaultThresholds(kubelet) : kubelet,
          podLogs(dataDir),
        ),
      };
    case 'memory':
      return {
        makeProvider: async ({ clock }) => {
          const { MemoryProvider } = await import('../providers/memory/index.ts');
          return new MemoryProvider({ clock, journal: join(dataDir, 'memory-pods.jsonl') });
        },
        node: { runtimeVersion: () => 'memory://1.0.0' },
      };
  }
}

const processProvider =
  (dataDir: string): MakeProvider =>
  async (surroundings) => {
    const { ProcessRuntime, processPowers } = await import('../providers/process/index.ts');
    const { clock, random, logger } = surroundings;
    const settings = { dataDir: join(dataDir, 'processes'), hostIp: hostAddress() };
    const runtime = new ProcessRuntime({ settings, clock, random, logger });
    await runtime.open();
    return kuberuntimeProvider(
      surroundings,
      { runtime, images: runtime, powers: processPowers(runtime) },
      { runtimeName: 'process', podLogsRoot: podLogs(dataDir) },
    );
  };

const podLogs = (dataDir: string): string => join(dataDir, 'logs', 'pods');

/** The address that others reach this host by; loopback on a host without a network. */
function hostAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}
