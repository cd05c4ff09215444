/** What the kernel tells of one kill for want of memory. */
export interface OomKill {
  readonly process: string;
  readonly pid: number;
  /** The cgroup whose memory ran out; `/`: the machine's. */
  readonly cgroup: string;
}

const ofCgroup = /oom-kill:constraint=.*,oom_memcg=(.*),task_memcg=.*,task=(.*),pid=(\d+),uid=\d+/;
/** Kernels before 5.0. */
const ofCgroupBefore = /Task in .* killed as a result of limit of (.*)/;
const killed = /Killed process (\d+) \((.+)\)/;

/**
 * Finds kills for want of memory in the lines of the kernel's log, over as many calls as they come in.
 *
 * Follows cAdvisor `oomparser`.
 */
export class OomParser {
  /** The cgroup of the kill that the lines are about; absent: they are about none. */
  #cgroup: string | undefined;

  /** @returns the kill that this line ends the telling of */
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

/** The Event on the Node of a machine that ran out of memory (kubelet `oomWatcher`). */
export const systemOomMessage = ({ process, pid }: OomKill): string =>
  process !== '' && pid !== 0
    ? `System OOM encountered, victim process: ${process}, pid: ${pid}`
    : 'System OOM encountered';
