import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { AgentError } from '../../base/errors.ts';
import { goQuote } from '../../go/go-quote.ts';
import { type IdRange, idUnit } from './ranges.ts';

const run = promisify(execFile);
/** How long the program may take, ms. */
const patienceMs = 10_000;

/** Whose subordinate ids pods are given. */
const owner = 'kubelet';

/** What {@link nodeIds} asks the host for. */
export interface SubordinateIds {
  /** Whether the host knows a user of this name. */
  hasUser(name: string): boolean;
  /** The output of `getsubids`; `undefined`: the host has no such command. */
  getsubids(...args: readonly string[]): Promise<string | undefined>;
}

/** The host's own users. */
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
 * The ids that pods of this node may be given: the subordinate ones of the user `kubelet`, or nearly all when it has none.
 * Follows `getKubeletMappings`.
 *
 * @throws {AgentError} `failed_precondition` when the user's ids cannot be told, or those of users and groups differ
 */
export async function nodeIds(idsPerPod: number, host: SubordinateIds): Promise<IdRange> {
  const all = { first: idUnit, length: Math.floor((2 ** 32 - idUnit) / idsPerPod) * idsPerPod };
  if (!host.hasUser(owner)) return all;
  const users = await asked(host, 'ids');
  if (users === undefined) return all;
  const groups = await asked(host, 'gids', '-g');
  if (users !== groups) throw broken(`mismatched subuids and subgids for user ${goQuote(owner)}`);
  return parse(users);
}

async function asked(
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

/** `0: kubelet 65536 2147483648` */
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
