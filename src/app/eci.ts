import type { AgentOptions } from '../agent/agent-options.ts';
import type { EffectiveOptions } from '../options/load.ts';
import type { EciSettings } from '../providers/eci/index.ts';
import { readProviderConfig } from './provider-config.ts';

type EciParts = Required<Pick<AgentOptions, 'makeProvider' | 'node'>> & Pick<AgentOptions, 'nodeIPs'>;

/**
 * eciParts returns the provider of Alibaba Cloud ECI and the description of its node: labels, taint and capacity are the account's, not
 * this machine's.
 *
 * @param file a settings file (`--provider-config`): TOML as the reference provider's, YAML or JSON
 * @throws {AgentError} `invalid_argument` with all missing or invalid settings
 */
export async function eciParts(
  settings: EffectiveOptions,
  environment: Readonly<Record<string, string | undefined>>,
  file?: string,
): Promise<EciParts> {
  const { EciProvider, eciNode, eciSettings } = await import('../providers/eci/index.ts');
  const { nodeName } = settings.agent;
  const account: EciSettings = eciSettings(
    environment,
    file === undefined ? {} : await readProviderConfig(file, 'Region = "cn-hangzhou"'),
  );
  const { labels, optionalLabels, taints, capacity } = eciNode(nodeName, account);
  return {
    ...(account.internalIp !== undefined && { nodeIPs: [account.internalIp] }),
    node: {
      labels: { ...labels, ...settings.agent.nodeLabels },
      optionalLabels,
      taints,
      capacity,
      runtimeVersion: () => 'eci://1.0.0',
    },
    makeProvider: ({ clock, random, logger }) =>
      new EciProvider({ ...account, nodeName, clock, random, logger }),
  };
}
