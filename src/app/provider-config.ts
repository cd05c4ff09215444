import { readFileSync } from 'node:fs';
import { AgentError, messageOf } from '../base/errors.ts';
import { parseDocument } from '../go/yaml/document.ts';

/**
 * Reads the settings of a provider (`--provider-config`): a file of TOML, YAML or JSON by its extension, or JSON itself.
 *
 * @param example a setting, for the message about a file that holds none
 * @throws {AgentError} `invalid_argument`, naming the file and its fault
 */
export async function readProviderConfig(
  file: string,
  example: string,
): Promise<Readonly<Record<string, unknown>>> {
  if (file.startsWith('{')) return inlineConfig(file);
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
    `--provider-config ${file}: must hold settings by name, such as ${example}`,
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

/** Settings that are given as JSON in place of a file. */
function inlineConfig(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch (reason) {
    throw new AgentError('invalid_argument', `--provider-config: ${messageOf(reason)}`);
  }
}
