import { AgentError, messageOf } from '../../base/errors.ts';
import type { IdRange } from './ranges.ts';

interface Mapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/** Returns the content of the file `userns` in a pod's directory, as the kubelet writes it. */
export function mappingText({ first, length }: IdRange): string {
  const mapping: Mapping = { hostId: first, containerId: 0, length };
  return JSON.stringify({ uidMappings: [mapping], gidMappings: [mapping] });
}

/**
 * Parses the format of {@link mappingText}.
 *
 * @throws {AgentError} `failed_precondition` for content that neither the agent nor a kubelet writes
 */
export function parseMapping(text: string): IdRange {
  const { uids, gids } = mappingsOf(text);
  const [uid] = uids;
  const [gid] = gids;
  if (!uid || uids.length > 1) throw invalid('no more than one mapping allowed.');
  if (!gid || gids.length > 1) throw invalid('GID and UID mappings should be identical.');
  if (uid.hostId !== gid.hostId || uid.containerId !== gid.containerId || uid.length !== gid.length)
    throw invalid('GID and UID mapping should be identical');
  if (uid.containerId !== 0) throw invalid('UID 0 must be mapped');
  return { first: uid.hostId, length: uid.length };
}

const invalid = (what: string): AgentError =>
  new AgentError('failed_precondition', `invalid user namespace configuration: ${what}`);

function mappingsOf(text: string): { readonly uids: readonly Mapping[]; readonly gids: readonly Mapping[] } {
  try {
    const { uidMappings, gidMappings } = JSON.parse(text) as Record<string, unknown>;
    return { uids: listOf(uidMappings), gids: listOf(gidMappings) };
  } catch (reason) {
    throw new AgentError(
      'failed_precondition',
      `invalid user namespace mappings file: ${messageOf(reason)}`,
      {
        cause: reason,
      },
    );
  }
}

function listOf(value: unknown): readonly Mapping[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new TypeError('mappings are not a list');
  return (value as readonly Record<string, unknown>[]).map((one) => ({
    hostId: idOf(one['hostId']),
    containerId: idOf(one['containerId']),
    length: idOf(one['length']),
  }));
}

function idOf(value: unknown = 0): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value;
  throw new TypeError(`${JSON.stringify(value)} is not a 32 bit number`);
}
