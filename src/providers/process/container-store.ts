import { execFileSync } from 'node:child_process';
import { chownSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { pathBelow } from '../../base/files/below.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../provider/cri-messages.ts';
import { punchHole, type Host } from './host.ts';
import type { ExecPlace, LaunchContainer, Launcher, PreparedLaunch } from './launcher.ts';
import { createRawFiles, ProcessContainer, type ContainerChange } from './process-container.ts';
import { ProcessTable } from '../../processes/proc.ts';
import { launchFault } from '../../processes/program.ts';
import { launchScript, startFault } from '../../processes/launch-script.ts';
import { loadAll, saveRecord, type ContainerRecord, type SandboxRecord } from './record.ts';
import { defaultShell, type ProcessSettings } from './settings.ts';
import { sendSignal } from '../../processes/sweep.ts';
import {
  commandScript,
  launchMark,
  supervisorScript,
  type LaunchPlan,
} from '../../processes/supervisor-script.ts';

/** Dependencies of ContainerStore. */
export interface ContainerStoreDeps {
  readonly dir: string;
  readonly settings: ProcessSettings;
  readonly host: Host;
  readonly launcher: Launcher;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onChange: (container: ProcessContainer, change: ContainerChange) => void;
}

/** ContainerStore holds the containers in memory and on disk, and prepares what a start needs. */
export class ContainerStore {
  readonly #deps: ContainerStoreDeps;
  readonly #containers = new Map<string, ProcessContainer>();
  readonly #bySandbox = new Map<string, ProcessContainer[]>();
  readonly #processes: ProcessTable;
  #lastCreatedAt = 0;

  constructor(deps: ContainerStoreDeps) {
    this.#deps = deps;
    this.#processes = new ProcessTable(deps.clock);
  }

  /** Loads every container from disk and takes over its supervision. */
  async load(): Promise<void> {
    mkdirSync(this.#deps.dir, { recursive: true, mode: 0o711 });
    const { records, cleared } = loadAll(this.#deps.dir, 'container.json');
    if (cleared.length > 0)
      this.#deps.logger.warn('incomplete container records were removed', { ids: cleared });
    for (const record of records as readonly ContainerRecord[]) await this.#add(record).adopt();
  }

  /** Creates a container. @throws {AgentError} `invalid_argument` when config and image give no command */
  create(sandbox: SandboxRecord, config: ContainerConfig): ProcessContainer {
    const image = this.#deps.launcher.resolve(config);
    const id = this.#deps.random.hex(32);
    const logPath = logPathOf(sandbox.config, config);
    const createdAt = this.#nextInstant();
    const record = { id, sandboxId: sandbox.id, config, ...(image && { image }), logPath, createdAt };
    mkdirSync(join(this.#deps.dir, id), { mode: 0o711 });
    saveRecord(join(this.#deps.dir, id, 'container.json'), record);
    return this.#add(record);
  }

  /**
   * Prepares the container's directory and starts the container.
   *
   * @throws {AgentError} `internal` with the cause; the container has exited with code 128 then
   */
  async start(container: ProcessContainer, sandbox: PodSandboxConfig, signal?: AbortSignal): Promise<void> {
    if (container.state !== 'created') {
      throw new AgentError('failed_precondition', `container ${container.record.id} is ${container.state}`);
    }
    try {
      makeLog(container.record.logPath);
      await this.#prepare(container, sandbox);
    } catch (cause) {
      const message = messageOf(cause);
      container.failStart(message);
      throw new AgentError('internal', message, { cause });
    }
    await container.start(signal);
  }

  /** Returns how to run a command in a running container. */
  exec(container: ProcessContainer, sandbox: PodSandboxConfig, argv: readonly string[]): ExecPlace {
    return this.#deps.launcher.exec(launchOf(container, sandbox), argv);
  }

  find(id: string | undefined): ProcessContainer | undefined {
    return this.#containers.get(id ?? '');
  }

  /** Returns a container. @throws {AgentError} `not_found` */
  get(id: string | undefined): ProcessContainer {
    const container = this.find(id);
    if (container) return container;
    throw new AgentError('not_found', `no container "${id ?? ''}"`);
  }

  all(): readonly ProcessContainer[] {
    return [...this.#containers.values()];
  }

  of(sandboxId: string): readonly ProcessContainer[] {
    return this.#bySandbox.get(sandboxId) ?? [];
  }

  remove(container: ProcessContainer): void {
    container.close();
    const { id, sandboxId } = container.record;
    this.#containers.delete(id);
    const rest = this.of(sandboxId).filter((other) => other !== container);
    if (rest.length > 0) this.#bySandbox.set(sandboxId, rest);
    else this.#bySandbox.delete(sandboxId);
  }

  /** Finds containers that ended without a notification, as after the supervisor was killed or inotify watches ran out. */
  async check(): Promise<void> {
    await Promise.all(
      this.all()
        .filter((container) => isSuspect(container))
        .map((container) => container.look(true)),
    );
  }

  close(): void {
    for (const container of this.all()) container.close();
  }

  #add(record: ContainerRecord): ProcessContainer {
    const { host, launcher, settings, clock, logger, onChange } = this.#deps;
    const dir = join(this.#deps.dir, record.id);
    const container = new ProcessContainer({
      record,
      dir,
      bootId: host.bootId,
      shell: settings.shell ?? defaultShell,
      processes: this.#processes,
      clock,
      logger,
      release: (path, bytes) => {
        punchHole(host, path, bytes);
      },
      onChange,
      ending: (exitCode) => launcher.ending?.({ dir, runDir: join(dir, 'run') }, exitCode) ?? {},
      launchFault: (failed, code, errorText) =>
        startFault(launchFault(launcher.words(failed), code, errorText)),
    });
    this.#containers.set(record.id, container);
    this.#bySandbox.set(record.sandboxId, [...this.of(record.sandboxId), container]);
    return container;
  }

  async #prepare(container: ProcessContainer, sandbox: PodSandboxConfig): Promise<void> {
    const { host, launcher } = this.#deps;
    const launch = await launcher.prepare(launchOf(container, sandbox));
    mkdirSync(container.runDir, { recursive: true, mode: 0o711 });
    createRawFiles(container.runDir);
    this.#writeScripts(container, launch);
    if (host.uid === 0) giveTo(container, launch.plan);
  }

  #writeScripts(container: ProcessContainer, { plan, program }: PreparedLaunch): void {
    const { host, settings } = this.#deps;
    const script = plan.tty ? host.terminal?.script : undefined;
    const stdin = plan.stdin || script !== undefined;
    if (stdin && host.mkfifo !== undefined)
      execFileSync(host.mkfifo, ['-m', '600', '--', join(container.runDir, 'stdin')], { env: {} });
    const shell = settings.shell ?? defaultShell;
    const mark = launchMark(container.record.id);
    const supervisor = { shell, mark, stdin, ...(script !== undefined && { script }) };
    const scripts = {
      'launch.sh': launchScript(plan, host.tools, program),
      'command.sh': commandScript(plan.prefix, shell, mark),
      'supervise.sh': supervisorScript(host.tools, supervisor),
    };
    for (const [file, text] of Object.entries(scripts))
      writeFileSync(join(container.dir, file), text, { mode: 0o600 });
  }

  /** Returns a creation time in ns since the epoch that is later than all before, so that newer containers sort after older ones. */
  #nextInstant(): number {
    const now = this.#deps.clock.now() * 1e6;
    this.#lastCreatedAt = Math.max(now, this.#lastCreatedAt + 1000);
    return this.#lastCreatedAt;
  }
}

/** True when a container counts as running but its supervisor is not alive; costs one system call. */
function isSuspect(container: ProcessContainer): boolean {
  const { state, identity } = container;
  return (
    state === 'running' &&
    identity !== undefined &&
    !sendSignal(identity.supervisorPid, 0) &&
    container.isGone()
  );
}

const launchOf = (container: ProcessContainer, sandbox: PodSandboxConfig): LaunchContainer => {
  const { record, dir, runDir, pid } = container;
  return { record, dir, runDir, sandbox, pid };
};

/** Gives the container's user read access to its launch script and access to its raw output. */
function giveTo({ dir, runDir }: ProcessContainer, { user: { uid, gid } }: LaunchPlan): void {
  if (uid === 0) return;
  for (const path of [join(runDir, 'stdout'), join(runDir, 'stderr'), join(dir, 'launch.sh')])
    chownSync(path, uid, gid);
}

/** Creates an empty log, which a container that failed to start has too. */
function makeLog(path: string): void {
  if (path === '') return;
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, 'a', 0o640));
}

function logPathOf(sandbox: PodSandboxConfig, config: ContainerConfig): string {
  if (!sandbox.logDirectory || !config.logPath) return '';
  return pathBelow(sandbox.logDirectory, config.logPath, 'the path of a log');
}
