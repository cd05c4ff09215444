import type { AgentOptions } from '../agent/agent-options.ts';
import type { LeveledLogger } from '../base/pino-logger.ts';
import type { EffectiveOptions } from '../options/load.ts';
import type { DataDir } from './data-dir.ts';
import type { RunOptions, StartContext, UpOptions } from './running.ts';
import type { Tracing } from './tracing.ts';

/** The inputs from which the command composes an agent. */
export interface AgentInputs extends Pick<StartContext, 'load'> {
  readonly options: UpOptions | RunOptions;
  readonly settings: EffectiveOptions;
  readonly dataDir: DataDir;
  readonly tracing: Tracing | undefined;
  readonly logger: LeveledLogger;
  /** Called with each Event that the agent reports. */
  readonly onEvent?: AgentOptions['onEvent'];
}
