import { kernelCgroupFiles } from '../containers/cm/files.ts';
import { detectCgroups } from '../containers/cm/host.ts';
import { AgentError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { readIfThere } from '../base/files/read-if-there.ts';
import type { EffectiveOptions } from '../options/load.ts';
import { isExplicit } from './agent-settings.ts';

/** Properties of this machine that settings may forbid. */
export interface MachineTraits {
  readonly swapOn: boolean;
  readonly cgroupV1: boolean;
}

/** @returns this machine's properties; undefined where they cannot be read */
export function thisMachine(): MachineTraits {
  return {
    swapOn: hasSwap(readIfThere('/proc/swaps') ?? ''),
    cgroupV1: detectCgroups(kernelCgroupFiles)?.version === 1,
  };
}

/** Reports whether `/proc/swaps` lists any entry. Follows kubelet `isSwapOnAccordingToProcSwaps`. */
export const hasSwap = (text: string): boolean => text.trim().split('\n').length > 1;

/**
 * Checks the machine against explicit settings. Violations of defaults are only logged, although a kubelet would not start.
 *
 * @throws {AgentError} `failed_precondition` when swap is on, on cgroup v1, or when a setting requires cgroup v2
 */
export function checkMachine(
  settings: EffectiveOptions,
  { swapOn, cgroupV1 }: MachineTraits,
  logger: Logger,
): void {
  if (cgroupV1 && settings.kubelet.singleProcessOOMKill === false)
    throw new AgentError(
      'failed_precondition',
      'invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1',
    );
  const faults = [
    {
      path: 'failSwapOn',
      here: swapOn,
      message:
        'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
    },
    {
      path: 'failCgroupV1',
      here: cgroupV1,
      message:
        'this machine has cgroup v1, whose support has ended; set failCgroupV1 to false to run on it all the same',
    },
  ] as const;
  for (const { path, here, message } of faults) {
    if (!here || !settings.kubelet[path]) continue;
    if (isExplicit(path, settings)) throw new AgentError('failed_precondition', message);
    logger.warn('the kubelet would not start on this machine', { setting: path, reason: message });
  }
}
