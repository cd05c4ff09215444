import type { RunningVirtualKubelet, VirtualKubeletOptions } from '../app/virtual-kubelet.ts';
import type { StartContext } from '../app/running.ts';
import { exitCodes } from './exit-codes.ts';

/** What the command is run with. */
export interface VirtualKubeletDeps {
  readonly start: (
    options: VirtualKubeletOptions,
    context: Pick<StartContext, 'load' | 'signal'>,
  ) => Promise<RunningVirtualKubelet>;
  /** Calls back at each SIGINT, SIGTERM and SIGHUP; the returned function ends that. */
  readonly onSignal: (listener: () => void) => () => void;
  readonly load: StartContext['load'];
}

/** Runs `podtender virtual-kubelet` until a signal or a failure and returns the exit code. Pods run on. */
export async function virtualKubelet(
  options: VirtualKubeletOptions,
  deps: VirtualKubeletDeps,
): Promise<number> {
  const endRequest = Promise.withResolvers<undefined>();
  const giveUp = new AbortController();
  const off = deps.onSignal(() => {
    giveUp.abort(new Error('told to end'));
    endRequest.resolve(undefined);
  });
  try {
    const running = await deps.start(options, { load: deps.load, signal: giveUp.signal });
    await Promise.race([running.ended, endRequest.promise]);
    await running.stop();
    return exitCodes.ok;
  } catch (reason) {
    if (giveUp.signal.aborted) return exitCodes.ok;
    throw reason;
  } finally {
    off();
  }
}
