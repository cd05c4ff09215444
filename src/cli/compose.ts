import { AgentError } from '../base/errors.ts';
import type { RunOptions } from './program.ts';
import { openDataDir } from './data-dir.ts';
import type { Running, UpOptions } from './running.ts';

/** Puts an embedded API server, the agent and a provider together, for `podtender up`. */
export async function startUp(options: UpOptions): Promise<Running> {
  const dataDir = openDataDir(options.dataDir);
  dataDir.release();
  throw new AgentError('unimplemented', `provider ${options.provider} is not connected yet`);
}

/** Joins a cluster, for `podtender run`; returns the exit code. */
export async function joinCluster(
  options: RunOptions,
  _onSignal: (listener: () => void) => () => void,
): Promise<number> {
  throw new AgentError('unimplemented', `provider ${options.provider} is not connected yet`);
}
