import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  spawn,
  type SpawnOptions,
} from 'node:child_process';
import { AgentError } from './errors.ts';

/** Spawn options with `stdio: 'pipe'`. */
export type PipedOptions = Omit<SpawnOptions, 'stdio'> & { readonly stdio: 'pipe' };

/**
 * Starts a program like Node's `spawn`. When no file descriptors are left, Node returns a child without streams and emits an `error` that
 * ends this process unless a listener is attached at once; this function throws instead.
 *
 * @throws {AgentError} `unavailable` when there are too few descriptors
 */
export function spawnProgram(
  file: string,
  args: readonly string[],
  options: PipedOptions,
): ChildProcessWithoutNullStreams;
export function spawnProgram(file: string, args: readonly string[], options: SpawnOptions): ChildProcess;
export function spawnProgram(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child: { readonly stdio?: ChildProcess['stdio'] } & ChildProcess = spawn(file, args, options);
  if ((child.stdio as unknown) !== undefined) return child;
  child.once('error', () => undefined);
  throw new AgentError('unavailable', `fork/exec ${file}: too many open files`);
}
