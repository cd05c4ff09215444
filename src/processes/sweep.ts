import type { Clock } from '../base/clock.ts';
import { hasEnvironment, isDead, type ProcessTable, type ProcStat } from './proc.ts';
import { containerIdVariable } from './supervisor-script.ts';

/** A container's processes: its leader's pid is also the id of their group and session. */
export interface Family {
  readonly containerId: string;
  readonly leader: number;
  /** No younger process can belong to it; ticks since boot. */
  readonly startTicks: number;
}

/** Everything alive that belongs to a container: its group, its session, and what left both but carries its mark. */
export function membersOf(family: Family, processes: readonly ProcStat[]): readonly ProcStat[] {
  return processes.filter(
    (process) =>
      !isDead(process) &&
      process.startTicks >= family.startTicks &&
      (process.processGroup === family.leader ||
        process.session === family.leader ||
        hasEnvironment(process.pid, containerIdVariable, family.containerId)),
  );
}

/** More than a listing may be old. */
const pollMs = 10;

/** Kills all that is left of a container and resolves once it is gone (or only zombies are left for init to collect). */
export async function sweep(family: Family, table: ProcessTable, clock: Clock): Promise<void> {
  for (;;) {
    const members = membersOf(family, table.list());
    if (members.length === 0) return;
    for (const { pid } of members) sendSignal(pid, 'SIGKILL');
    await clock.sleep(pollMs);
  }
}

/** Sends a signal; a process or group (negative pid) that is gone is no error. @returns whether someone was there to get it */
export function sendSignal(pid: number, signal: NodeJS.Signals | number): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
