import type { Clock } from '../base/clock.ts';
import { hasEnvironment, isDead, type ProcessTable, type ProcStat } from './proc.ts';
import { containerIdVariable } from './supervisor-script.ts';

/** A container's processes: the leader's pid is also the id of their process group and session. */
export interface Family {
  readonly containerId: string;
  readonly leader: number;
  /** Lower bound of the members' start times, ticks since boot. */
  readonly startTicks: number;
}

/** Returns the living processes of a container: its group, its session, and processes that left both but carry its mark. */
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

/** Poll interval, longer than the maximum age of a listing, ms. */
const pollMs = 10;

/** Kills all processes of a container and resolves when they are gone (or only zombies are left for init to reap). */
export async function sweep(family: Family, table: ProcessTable, clock: Clock): Promise<void> {
  for (;;) {
    const members = membersOf(family, table.list());
    if (members.length === 0) return;
    for (const { pid } of members) sendSignal(pid, 'SIGKILL');
    await clock.sleep(pollMs);
  }
}

/** Sends a signal; a process or group (negative pid) that does not exist is no error. @returns true when it existed */
export function sendSignal(pid: number, signal: NodeJS.Signals | number): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
