import type { ExecPlan } from '../../processes/exec.ts';
import type { LaunchPlan } from '../../processes/supervisor-script.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../provider/cri-messages.ts';
import type { ContainerRecord, Outcome, ResolvedImage } from './record.ts';

/** A container for its launcher: its record and its directories. */
export interface LaunchContainer {
  readonly record: ContainerRecord;
  readonly sandbox: PodSandboxConfig;
  /** The container's directory, which only the agent's user can write to. */
  readonly dir: string;
  /** The supervisor's directory, with the raw output. */
  readonly runDir: string;
  /** Pid of the container's first process, when it runs. */
  readonly pid?: number | undefined;
}

/** A container ready to start. */
export interface PreparedLaunch {
  readonly plan: LaunchPlan;
  /** Path to run in place of a program's name that a shell would parse as an option. */
  readonly program?: string | undefined;
}

/** The parts of an {@link ExecPlan} that depend on what the container runs in. */
export type ExecPlace = Pick<ExecPlan, 'argv' | 'env' | 'workingDir' | 'root' | 'user' | 'prefix'>;

/** How a container ended. */
export type Ending = Pick<Outcome, 'exitCode' | 'reason'>;

/** Launcher decides what containers run in: the host's file system, or the root file system of an image. */
export interface Launcher {
  /** The runtime's name and version for `Version`. */
  readonly name: string;
  /**
   * Resolves a container's image at its creation; the result is stored with the container.
   *
   * @returns `undefined` where images are names only
   * @throws {AgentError} `invalid_argument` when config and image give no command
   */
  resolve(config: ContainerConfig): ResolvedImage | undefined;
  /**
   * Creates what the container needs below its directory, the raw output files excepted.
   *
   * @throws {Error} with runc's message when the program certainly cannot run
   */
  prepare(container: LaunchContainer): Promise<PreparedLaunch> | PreparedLaunch;
  /** Returns how to run a command in a running container. @throws {AgentError} when it certainly cannot run */
  exec(container: LaunchContainer, argv: readonly string[]): ExecPlace;
  /** Returns the words of the container's command, for the message of a failed launch. */
  words(record: ContainerRecord): Pick<LaunchPlan, 'argv' | 'workingDir'>;
  /** Returns what the exit code of a container that has ended does not say, such as the reason `OOMKilled`. */
  ending?(container: Pick<LaunchContainer, 'dir' | 'runDir'>, exitCode: number): Partial<Ending>;
  /** Releases what a container that has ended holds outside its directory. */
  release?(dir: string): Promise<void>;
}
