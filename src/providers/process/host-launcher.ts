import { chownSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { startFault } from '../../processes/launch-script.ts';
import { findProgram, wordFault } from '../../processes/program.ts';
import type { LaunchPlan } from '../../processes/supervisor-script.ts';
import type { ContainerConfig } from '../../provider/cri-messages.ts';
import type { Host } from './host.ts';
import type { HostImage } from './images.ts';
import { commandOf, planLaunch, workingDirCandidates } from './launch.ts';
import type { ExecPlace, LaunchContainer, Launcher, PreparedLaunch } from './launcher.ts';
import { layOutMounts, makeDirectory } from './mounts.ts';
import type { ContainerRecord } from './record.ts';
import type { ProcessSettings } from './settings.ts';

/** Dependencies of HostLauncher. */
export interface HostLauncherDeps {
  readonly settings: Pick<ProcessSettings, 'path'>;
  readonly host: Host;
  readonly images: ReadonlyMap<string, HostImage>;
}

/** HostLauncher runs containers as programs of the host, which see the host's file system. */
export class HostLauncher implements Launcher {
  readonly name = 'process';
  readonly #deps: HostLauncherDeps;

  constructor(deps: HostLauncherDeps) {
    this.#deps = deps;
  }

  resolve(config: ContainerConfig): undefined {
    commandOf(config, this.#deps.images);
  }

  prepare(container: LaunchContainer): PreparedLaunch {
    const { config } = container.record;
    const root = join(container.dir, 'root');
    mkdirSync(root, { recursive: true, mode: 0o755 });
    layOutMounts(root, config.mounts ?? []);
    const plan = this.#plan(container);
    if (!existsSync(plan.workingDir))
      makeDirectory(root, config.mounts ?? [], posix.resolve('/', config.workingDir ?? ''));
    if (!statSync(plan.workingDir).isDirectory())
      throw new Error(startFault(`chdir to cwd ("${config.workingDir ?? ''}") failed: not a directory`));
    const program = demandProgram(plan);
    const { uid, gid } = plan.user;
    if (this.#deps.host.uid === 0 && uid !== 0 && plan.workingDir === root) chownSync(root, uid, gid);
    return { plan, program };
  }

  exec(container: LaunchContainer, argv: readonly string[]): ExecPlace {
    return { ...this.#plan(container), argv };
  }

  words({ config }: ContainerRecord): Pick<LaunchPlan, 'argv' | 'workingDir'> {
    return { argv: commandOf(config, this.#deps.images), workingDir: config.workingDir ?? '' };
  }

  #plan({ record: { id, config }, dir, sandbox }: LaunchContainer): LaunchPlan {
    const root = join(dir, 'root');
    const candidates = workingDirCandidates(root, config.workingDir);
    const workingDir = candidates.find((path) => existsSync(path)) ?? candidates[0] ?? root;
    const { host, images, settings } = this.#deps;
    return planLaunch(
      { id, config, sandbox, root, workingDir },
      { ...host, images, ...(settings.path !== undefined && { path: settings.path }) },
    );
  }
}

/**
 * Finds the program of a container. @returns its path when its name would be parsed as an option
 * @throws {AgentError} with runc's message when it certainly cannot run
 */
function demandProgram(plan: LaunchPlan): string | undefined {
  const [name = ''] = plan.argv;
  const odd = wordFault(plan);
  const path = plan.env.get('PATH') ?? '';
  const found = odd === undefined ? findProgram(name, { ...plan, path }) : { fault: odd };
  if (found.fault !== undefined) throw new AgentError('internal', startFault(found.fault));
  return name.startsWith('-') ? found.path : undefined;
}
