import { AgentError } from '../base/errors.ts';

/** The process that receives signals. */
interface SignalHost {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  exit(code: number): unknown;
}

let installed = false;

/**
 * Returns a signal that aborts at the first SIGINT or SIGTERM; the second one ends the process with exit code 1. May be called once.
 *
 * @example
 * await manager.start(setupSignalHandler());
 */
export function setupSignalHandler(host: SignalHost = process): AbortSignal {
  if (host === process) {
    if (installed) throw new AgentError('failed_precondition', 'setupSignalHandler may be called once');
    installed = true;
  }
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) host.exit(1);
    else controller.abort();
  };
  host.on('SIGINT', stop);
  host.on('SIGTERM', stop);
  return controller.signal;
}
