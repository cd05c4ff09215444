import { readFileSync } from 'node:fs';
import type { AgentOptions } from '../agent/agent-options.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { parseDocument } from '../go/yaml/document.ts';
import type { EffectiveOptions } from '../options/load.ts';
import type { EciSettings } from '../providers/eci/index.ts';

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
  const account: EciSettings = eciSettings(environment, file === undefined ? {} : await readSettings(file));
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

/** Reads a settings file by its extension. @throws {AgentError} naming the file and its fault */
async function readSettings(file: string): Promise<Readonly<Record<string, unknown>>> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (reason) {
    throw new AgentError('invalid_argument', `--provider-config: ${messageOf(reason)}`);
  }
  const value = await parsed(file, text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new AgentError(
    'invalid_argument',
    `--provider-config ${file}: must hold settings by name, such as Region = "cn-hangzhou"`,
  );
}

async function parsed(file: string, text: string): Promise<unknown> {
  if (file.endsWith('.toml')) {
    const { parse } = await import('smol-toml');
    try {
      return parse(text);
    } catch (reason) {
      throw new AgentError('invalid_argument', `--provider-config ${file}: ${messageOf(reason)}`);
    }
  }
  const result = parseDocument(text);
  if (result.ok) return result.document.value;
  throw new AgentError('invalid_argument', `--provider-config ${file}: ${result.fault.message}`);
}
