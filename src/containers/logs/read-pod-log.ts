import type { Clock } from '../../base/clock.ts';
import type { LogOptions, LogSink } from '../../provider/logs.ts';
import { readLogs, sinceOf } from './logs.ts';

/** A container's log file and the dependencies of following it. */
export interface PodLogSource {
  readonly path: string;
  readonly clock: Clock;
  /** True while the container runs; once it does not, a followed log is read to its end. */
  readonly isRunning: () => Promise<boolean>;
}

/**
 * Writes a container's log to one sink with the options of a request.
 *
 * Follows kubelet `GetContainerLogs` and, for the reading, CRI's `ReadLogs`.
 */
export async function readPodLog(
  { path, clock, isRunning }: PodLogSource,
  options: LogOptions,
  sink: LogSink,
  signal: AbortSignal,
): Promise<void> {
  const since = sinceOf(options, clock.now());
  const { stream = 'All' } = options;
  const sinks = {
    ...(stream !== 'Stderr' && { stdout: sink }),
    ...(stream !== 'Stdout' && { stderr: sink }),
  };
  const selected = { ...options, ...(since !== undefined && { since }) };
  await readLogs(path, selected, sinks, { clock, isRunning, signal });
}
