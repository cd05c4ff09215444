/** An OOM kill reported by the kernel. */
export interface OomKill {
  readonly process: string;
  readonly pid: number;
  /** The cgroup that ran out of memory; `/`: the machine. */
  readonly cgroup: string;
}

const ofCgroup = /oom-kill:constraint=.*,oom_memcg=(.*),task_memcg=.*,task=(.*),pid=(\d+),uid=\d+/;
/** Message of kernels before 5.0. */
const ofCgroupBefore = /Task in .* killed as a result of limit of (.*)/;
const killed = /Killed process (\d+) \((.+)\)/;

/**
 * OomParser finds OOM kills in lines of the kernel's log, which may be split over several calls.
 *
 * Follows cAdvisor `oomparser`.
 */
export class OomParser {
  /** The cgroup of the kill that the current lines describe; absent: none. */
  #cgroup: string | undefined;

  /** Parses a line. @returns the kill when this line completes its description */
  feed(line: string): OomKill | undefined {
    if (this.#cgroup === undefined) {
      if (line.includes('invoked oom-killer:')) this.#cgroup = '/';
      return undefined;
    }
    this.#cgroup = ofCgroupBefore.exec(line)?.[1] ?? this.#cgroup;
    const kill = killIn(line, this.#cgroup);
    if (kill) this.#cgroup = undefined;
    return kill;
  }
}

function killIn(line: string, cgroup: string): OomKill | undefined {
  const named = ofCgroup.exec(line);
  if (named) return { process: named[2] ?? '', pid: Number(named[3]), cgroup: named[1] ?? '' };
  const last = killed.exec(line);
  return last ? { process: last[2] ?? '', pid: Number(last[1]), cgroup } : undefined;
}

/** Returns the message of the Node's Event after the machine ran out of memory (kubelet `oomWatcher`). */
export const systemOomMessage = ({ process, pid }: OomKill): string =>
  process !== '' && pid !== 0
    ? `System OOM encountered, victim process: ${process}, pid: ${pid}`
    : 'System OOM encountered';
