import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  spawn,
  type SpawnOptions,
} from 'node:child_process';
import { AgentError } from './errors.ts';

/** With `stdio: 'pipe'`. */
export type PipedOptions = Omit<SpawnOptions, 'stdio'> & { readonly stdio: 'pipe' };

/**
 * Starts a program, as Node does. Where file descriptors are wanting Node gives a child without any streams, and an `error` that ends
 * this process when whoever stumbled over that did not listen yet.
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
