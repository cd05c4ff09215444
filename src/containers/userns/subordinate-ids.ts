import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { AgentError } from '../../base/errors.ts';
import { goQuote } from '../../go/go-quote.ts';
import { type IdRange, idUnit } from './ranges.ts';

const run = promisify(execFile);
/** Time limit of `getsubids`, ms. */
const patienceMs = 10_000;

/** User whose subordinate ids are assigned to pods. */
const owner = 'kubelet';

/** Access to the host's subordinate ids for {@link nodeIds}. */
export interface SubordinateIds {
  /** True when the host has a user of this name. */
  hasUser(name: string): boolean;
  /** Runs `getsubids`; `undefined` when the host does not have the command. */
  getsubids(...args: readonly string[]): Promise<string | undefined>;
}

/** The host's users and `getsubids`. */
export const hostSubordinateIds: SubordinateIds = {
  hasUser: (name) =>
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .some((line) => line.startsWith(`${name}:`)),
  async getsubids(...args) {
    try {
      return (await run('getsubids', args, { timeout: patienceMs, killSignal: 'SIGKILL' })).stdout;
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw reason;
    }
  },
};

/**
 * Returns the ids that pods of this node may use: the subordinate ids of the user `kubelet`, or nearly all ids when there is none.
 * Follows `getKubeletMappings`.
 *
 * @throws {AgentError} `failed_precondition` when the ids cannot be read, or those of users and groups differ
 */
export async function nodeIds(idsPerPod: number, host: SubordinateIds): Promise<IdRange> {
  const all = { first: idUnit, length: Math.floor((2 ** 32 - idUnit) / idsPerPod) * idsPerPod };
  if (!host.hasUser(owner)) return all;
  const users = await subordinateIdsOf(host, 'ids');
  if (users === undefined) return all;
  const groups = await subordinateIdsOf(host, 'gids', '-g');
  if (users !== groups) throw broken(`mismatched subuids and subgids for user ${goQuote(owner)}`);
  return parse(users);
}

async function subordinateIdsOf(
  host: SubordinateIds,
  what: string,
  ...flags: readonly string[]
): Promise<string | undefined> {
  try {
    return await host.getsubids(...flags, owner);
  } catch (reason) {
    const message = `error retrieving additional ${what} for user ${goQuote(owner)}`;
    throw new AgentError('failed_precondition', message, { cause: reason });
  }
}

/** Parses output such as `0: kubelet 65536 2147483648`. */
function parse(output: string): IdRange {
  const lines = output.replace(/^\n+|\n+$/g, '').split('\n');
  if (lines.length !== 1)
    throw broken(`error parsing line ${goQuote(output)}: it must contain only one line`);
  const fields = (lines[0] ?? '').split(/\s+/).filter((field) => field !== '');
  if (fields.length !== 4) throw broken(`invalid line ${goQuote(output)}`);
  const [first = 0, length = 0] = fields.slice(2).map((field) => numberOf(field, output));
  return { first, length };
}

function numberOf(field: string, output: string): number {
  const value = Number(field);
  const fault = !/^\d+$/.test(field) ? 'invalid syntax' : value < 2 ** 32 ? '' : 'value out of range';
  if (fault === '') return value;
  throw broken(
    `error parsing line ${goQuote(output)}: strconv.ParseUint: parsing ${goQuote(field)}: ${fault}`,
  );
}

const broken = (message: string): AgentError => new AgentError('failed_precondition', message);
