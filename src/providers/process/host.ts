import { execFile } from 'node:child_process';
import { AgentError } from '../../base/errors.ts';
import { findHostProgram, findTerminalTools } from '../../processes/host-programs.ts';
import { readBootId } from '../../processes/proc.ts';
import type { HostTools, TerminalTools } from '../../processes/supervisor-script.ts';

/** Programs of the machine that the provider uses. */
export interface Host {
  readonly tools: HostTools;
  /** Path of util-linux's `setpriv`; absent: users cannot be changed. */
  readonly setpriv?: string;
  readonly mkfifo?: string;
  readonly fallocate?: string;
  /** Absent: terminals are not supported. */
  readonly terminal?: TerminalTools;
  readonly bootId: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Finds the programs of the machine that the provider needs.
 *
 * @throws {AgentError} `failed_precondition` with the name of a missing program
 */
export function inspectHost(): Host {
  const optional = (name: 'setpriv' | 'mkfifo' | 'fallocate'): Partial<Host> => {
    const path = findHostProgram(name);
    return path === undefined ? {} : { [name]: path };
  };
  const terminal = findTerminalTools();
  return {
    tools: {
      setsid: need('setsid', 'util-linux'),
      env: need('env', 'coreutils'),
      nice: need('nice', 'coreutils'),
      sleep: need('sleep', 'coreutils'),
    },
    ...optional('setpriv'),
    ...optional('mkfifo'),
    ...optional('fallocate'),
    ...(terminal && { terminal }),
    bootId: readBootId(),
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
  };
}

/** Releases the disk space of a file's first `bytes` bytes by punching a hole; does nothing where that is not supported. */
export function punchHole(host: Host, path: string, bytes: number): void {
  if (host.fallocate === undefined) return;
  const whole = Math.floor(bytes / 4096) * 4096;
  execFile(
    host.fallocate,
    ['--punch-hole', '--offset', '0', '--length', String(whole), path],
    () => undefined,
  );
}

function need(name: string, pack: string): string {
  const path = findHostProgram(name);
  if (path !== undefined) return path;
  throw new AgentError('failed_precondition', `the process provider needs the program ${name} (${pack})`);
}
