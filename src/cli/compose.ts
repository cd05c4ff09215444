import { AgentError } from '../base/errors.ts';
import { loadOptions, type EffectiveOptions } from '../options/load.ts';
import { readFlagsOnly } from './settings.ts';
import type { RunOptions } from './program.ts';
import { openDataDir } from './data-dir.ts';
import type { Running, UpOptions } from './running.ts';

/** Puts an embedded API server, the agent and a provider together, for `podtender up`. */
export async function startUp(options: UpOptions): Promise<Running> {
  effectiveOptions(options);
  const dataDir = openDataDir(options.dataDir);
  dataDir.release();
  throw new AgentError('unimplemented', `provider ${options.provider} is not connected yet`);
}

/** Joins a cluster, for `podtender run`; returns the exit code. */
export async function joinCluster(
  options: RunOptions,
  _onSignal: (listener: () => void) => () => void,
): Promise<number> {
  effectiveOptions(options);
  throw new AgentError('unimplemented', `provider ${options.provider} is not connected yet`);
}

/** @throws {OptionsError} every fault of file, flags and environment at once */
function effectiveOptions(
  options: Pick<UpOptions, 'kubeletFlags' | 'config' | 'nodeName'>,
): EffectiveOptions {
  return loadOptions({
    flags: readFlagsOnly(options.kubeletFlags),
    env: process.env,
    hostname: options.nodeName,
    ...(options.config !== undefined && { configFile: options.config }),
  });
}
