import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import { execStreams } from '../processes/exec.ts';
import { findHostProgram, findTerminalTools, programPath } from '../processes/host-programs.ts';
import { execTerminal } from '../processes/terminal.ts';
import { type ProcessUser, setprivWords } from '../processes/user.ts';
import type { TerminalIo } from '../provider/powers.ts';

/** A program of this machine that answers for a simulated container. */
export interface LocalProgram {
  readonly command: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  /** Default: the directory of this process. */
  readonly workDir?: string;
  /** Default: the user of this process. */
  readonly uid?: number;
  /** Default: the group of this process. */
  readonly gid?: number;
}

/**
 * Runs a program of this machine with the streams of an exec, on a terminal of its own when the client has one, and returns its exit code.
 * When `signal` aborts, the program and the processes of its group are killed.
 *
 * @throws {AgentError} `permission_denied` for another user without root, `unimplemented` for a terminal that the machine cannot provide
 */
export async function runLocalProgram(
  program: LocalProgram,
  io: TerminalIo,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  const scratch = await mkdtemp(join(tmpdir(), 'podtender-exec-'));
  const plan = {
    argv: program.command,
    env: new Map([['PATH', programPath], ...program.env]),
    workingDir: program.workDir ?? process.cwd(),
    root: '/',
    ...identityOf(program),
    ...{ shell: '/bin/sh', scratch },
    tools: { env: need('env'), nice: need('nice') },
  };
  try {
    if (io.tty) return await execTerminal(plan, { tools: terminalTools(), io, clock }, signal);
    const { stdin, stdout, stderr = stdout } = io;
    return await execStreams(
      plan,
      { ...(stdin && { stdin }), ...(stdout && { stdout }), ...(stderr && { stderr }) },
      signal,
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Returns the user of a program, and the words before its command that change to it. */
function identityOf({ uid, gid }: LocalProgram): { user: ProcessUser; prefix: readonly string[] } {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const user = { uid: uid ?? own.uid, gid: gid ?? own.gid, supplementalGroups: [] };
  return { user, prefix: prefixOf(user, own) };
}

/** Returns the words before a command that change its user. */
function prefixOf(user: ProcessUser, own: { readonly uid: number; readonly gid: number }): readonly string[] {
  const words = setprivWords(user, own);
  if (words.length === 0) return [];
  if (own.uid === 0) return [need('setpriv'), ...words, '--'];
  throw new AgentError(
    'permission_denied',
    `securityContext: this simulation may not run programs as user ${user.uid} and group ${user.gid}: run it as root`,
  );
}

function need(name: string): string {
  const path = findHostProgram(name);
  if (path !== undefined) return path;
  throw new AgentError(
    'unimplemented',
    `commands of simulated containers need the program ${name} on this machine`,
  );
}

const terminalTools = (): NonNullable<ReturnType<typeof findTerminalTools>> => {
  const tools = findTerminalTools();
  if (tools) return tools;
  throw new AgentError(
    'unimplemented',
    'a terminal (-t) needs the programs script (bsdutils) and stty (coreutils); go without -t',
  );
};
