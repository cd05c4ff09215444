import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { CgroupFiles } from '../../containers/cm/files.ts';
import type { CgroupHost } from '../../containers/cm/host.ts';
import type { CgroupSettings } from '../../containers/cm/settings.ts';
import { CgroupTree } from '../../containers/cm/tree.ts';
import { fromJson, readIfThere, toJson } from '../../processes/files.ts';
import { launchFd } from '../../processes/launch-script.ts';
import { quote } from '../../processes/shell-word.ts';
import type { LinuxContainerResources } from '../../provider/cri-messages.ts';
import type { ContainerRecord } from '../process/index.ts';
import type { Delegation } from './delegation.ts';

/** Dependencies of ContainerCgroups. */
export interface ContainerCgroupsDeps {
  readonly delegation: Delegation;
  readonly files: CgroupFiles;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The provider's directory, which its cgroups are named after. */
  readonly dataDir: string;
  /** Maximum number of processes and threads of a pod; absent or not positive: no limit. */
  readonly podPidsLimit?: number;
}

/** The cgroup of a container as it is stored in its directory, for a later agent in another cgroup. */
interface CgroupRecord {
  readonly host: CgroupHost;
  readonly name: readonly string[];
}

type Place = Pick<ContainerRecord, 'id' | 'sandboxId' | 'config'>;

/** How often, and how many ms apart, the removal of a cgroup is tried whose last process is not yet reaped. */
const removal = { tries: 20, pauseMs: 50 };
const recordFile = 'cgroup.json';
const joinFile = 'join.sh';

/** ContainerCgroups gives each container a cgroup with its limits, in a cgroup of its pod. Does nothing where no controller is delegated. */
export class ContainerCgroups {
  readonly #deps: ContainerCgroupsDeps;
  readonly #root: string;

  constructor(deps: ContainerCgroupsDeps) {
    this.#deps = deps;
    this.#root = cgroupRootOf(deps.dataDir);
  }

  /**
   * Creates a container's cgroup with its limits, and the script that joins it.
   *
   * @throws {AgentError} `failed_precondition` with the kernel's error
   */
  create({ id, sandboxId, config }: Place, dir: string): void {
    const { delegation, podPidsLimit = 0 } = this.#deps;
    const { host } = delegation;
    if (host.hierarchies.length === 0) return;
    const pod = [this.#root, sandboxId];
    const name = [...pod, id];
    const record: CgroupRecord = { host, name };
    writeFileSync(join(dir, recordFile), toJson(record), { mode: 0o600 });
    const tree = this.#tree(host);
    tree.create(pod, podPidsLimit > 0 ? { pids: podPidsLimit } : {});
    tree.create(name, settingsOf(config.linux?.resources ?? {}));
    const files = host.hierarchies.map(({ mount }) => join(mount, ...name, 'cgroup.procs'));
    writeFileSync(join(dir, joinFile), joinScript(files), { mode: 0o600 });
  }

  /** Returns the words that put a command into the cgroup of a container before it starts; empty when it has none. */
  words(dir: string, shell: string): readonly string[] {
    const path = join(dir, joinFile);
    return existsSync(path) ? [shell, path] : [];
  }

  /** True when the kernel has killed a process of the container for lack of memory. */
  wasOomKilled(dir: string): boolean {
    const record = recordIn(dir);
    if (!record) return false;
    const file = record.host.version === 2 ? 'memory.events' : 'memory.oom_control';
    const text = this.#tree(record.host).read(record.name, 'memory', file) ?? '';
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0;
  }

  /** Removes the cgroup of a container that has ended, and its pod's when that is empty. */
  async remove(dir: string): Promise<void> {
    const record = recordIn(dir);
    if (!record) return;
    const { clock, logger } = this.#deps;
    const tree = this.#tree(record.host);
    for (let left = removal.tries; ; left--) {
      try {
        tree.remove(record.name);
        break;
      } catch (reason) {
        if (left === 0) {
          logger.warn('the cgroup of a container was not removed', { err: messageOf(reason) });
          return;
        }
      }
      await clock.sleep(removal.pauseMs);
    }
    if (tree.removeEmpty(record.name.slice(0, -1))) tree.removeEmpty(record.name.slice(0, -2));
  }

  #tree(host: CgroupHost): CgroupTree {
    return new CgroupTree({ files: this.#deps.files, host, driver: 'cgroupfs' });
  }
}

/** Returns the name of the cgroup, below the agent's own, that holds those of all pods of a provider's directory. */
export const cgroupRootOf = (dataDir: string): string =>
  `podtender-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`;

function recordIn(dir: string): CgroupRecord | undefined {
  const text = readIfThere(join(dir, recordFile));
  return text === undefined ? undefined : (fromJson(text) as CgroupRecord | undefined);
}

function settingsOf(resources: LinuxContainerResources): CgroupSettings {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, unified } = resources;
  return {
    ...(cpuShares !== undefined && { cpuShares }),
    ...(cpuQuota !== undefined && { cpuQuota }),
    ...(cpuPeriod !== undefined && { cpuPeriod }),
    ...(memoryLimitInBytes !== undefined && { memory: memoryLimitInBytes }),
    ...(unified && { unified }),
  };
}

/** Returns the script that joins cgroups and becomes the command of its arguments. A failure is reported as that of a launch. */
function joinScript(files: readonly string[]): string {
  const joins = files.map((file) => `echo "$$" >${quote(file)}`).join(' && ');
  return [`{ ${joins}; } || { echo 126 >&${launchFd.fault}; exit 126; }`, 'exec "$@"', ''].join('\n');
}
