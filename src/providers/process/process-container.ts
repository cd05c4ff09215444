import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, rmSync, watch, writeFileSync, type FSWatcher } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { Latch } from '../../base/latch.ts';
import type { Logger } from '../../base/logger.ts';
import type { LogStream } from '../../processes/cri-log.ts';
import { readIfThere, writtenAt } from '../../processes/files.ts';
import { LogPump } from '../../processes/log-pump.ts';
import {
  firstChild,
  isDead,
  mayHaveWord,
  parseStat,
  readStat,
  type ProcessTable,
} from '../../processes/proc.ts';
import {
  loadRecord,
  saveRecord,
  type ContainerRecord,
  type Outcome,
  type ProcessIdentity,
} from './record.ts';
import { launchMark } from '../../processes/supervisor-script.ts';
import { sendSignal, sweep } from '../../processes/sweep.ts';

/** Changes of a container, reported when they are observed. */
export type ContainerChange = 'started' | 'stopped';

/** Dependencies of ProcessContainer. */
export interface ProcessContainerDeps {
  readonly record: ContainerRecord;
  /** The container's directory. */
  readonly dir: string;
  readonly bootId: string;
  readonly shell: string;
  readonly processes: ProcessTable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly release: (path: string, bytes: number) => void;
  readonly onChange: (container: ProcessContainer, change: ContainerChange) => void;
  /** Returns what the exit code of the supervisor does not say. */
  readonly ending: (exitCode: number) => Partial<Pick<Outcome, 'exitCode' | 'reason'>>;
  /** Returns the error of a failed launch by the launcher's exit code and error output. */
  readonly launchFault: (record: ContainerRecord, code: number, errorText: string) => string;
}

const nanosPerMs = 1e6;
/** Time limit of a supervisor from its claim to its pid file, and of a launch from there to the program, ms. */
const claimMs = 5000;
/** Poll interval while a container starts, ms, as the start of the program causes no notification. */
const launchingMs = 2;
/** Poll interval after a container was killed, ms, in case a notification is missed. */
const recheckMs = 100;

/**
 * ProcessContainer is a command under a supervisor that outlives the agent. Its state comes only from files that the
 * supervisor writes, so containers of this agent and of earlier agents are treated alike.
 */
export class ProcessContainer {
  readonly record: ContainerRecord;
  readonly dir: string;
  readonly runDir: string;
  readonly #deps: ProcessContainerDeps;
  readonly #pump: LogPump;
  readonly #started = new Latch();
  readonly #ended = new Latch();
  #identity: ProcessIdentity | undefined;
  #startedAt = 0;
  #outcome: Outcome | undefined;
  #launched = false;
  #watcher: FSWatcher | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #check = false;
  #silenced = false;
  #closed = false;
  readonly #listeners = new Set<() => void>();

  constructor(deps: ProcessContainerDeps) {
    this.#deps = deps;
    this.record = deps.record;
    this.dir = deps.dir;
    this.runDir = join(deps.dir, 'run');
    this.#pump = new LogPump({
      rawDir: this.runDir,
      progressPath: join(deps.dir, 'log-progress'),
      logPath: deps.record.logPath,
      clock: deps.clock,
      release: deps.release,
    });
  }

  get state(): 'created' | 'running' | 'exited' {
    if (this.#outcome) return 'exited';
    return this.#identity ? 'running' : 'created';
  }

  /** Pid of the command; `undefined` before its start. */
  get pid(): number | undefined {
    return this.#identity?.pid;
  }

  get identity(): ProcessIdentity | undefined {
    return this.#identity;
  }

  /** Start time in ns since the epoch; 0: it never ran. */
  get startedAt(): number {
    return this.#outcome?.startedAt ?? this.#startedAt;
  }

  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** Starts the supervisor in a prepared run directory and resolves when the command's process exists. */
  async start(signal?: AbortSignal): Promise<void> {
    if (this.#launched || this.state !== 'created') {
      throw new AgentError('failed_precondition', `container ${this.record.id} was started before`);
    }
    this.#launched = true;
    this.#watch();
    const supervisor = spawn(this.#deps.shell, [join(this.dir, 'supervise.sh')], {
      cwd: this.runDir,
      detached: true,
      stdio: 'ignore',
      env: {},
    });
    supervisor.on('error', (cause) => {
      this.failStart(`starting the supervisor ${this.#deps.shell} failed: ${messageOf(cause)}`);
    });
    supervisor.on('exit', () => void this.#supervisorEnded());
    await this.#started.wait(signal).finally(() => {
      supervisor.unref();
    });
    if (this.#identity) return;
    this.#demandOpen();
    throw new AgentError('internal', this.#outcome?.message ?? 'the container did not start');
  }

  /** Marks a container that never ran as exited (containerd's `StartError`, exit code 128). */
  failStart(message: string): void {
    this.#launched = true;
    const finishedAt = this.#deps.clock.now() * nanosPerMs;
    this.#end({ exitCode: 128, reason: 'StartError', message, startedAt: 0, finishedAt });
  }

  /** Takes over a container of an earlier agent: running, exited meanwhile, or never started. */
  async adopt(): Promise<void> {
    const outcome = loadRecord(join(this.dir, 'outcome.json')) as Outcome | undefined;
    if (outcome) {
      this.#outcome = outcome;
      this.#openAll();
      return;
    }
    if (readIfThere(join(this.dir, 'supervise.sh')) === undefined) return;
    this.#launched = true;
    if (this.#claim()) {
      this.failStart('the agent ended before the container was started');
      return;
    }
    this.#watch();
    await this.look(true);
    if (this.state === 'created') this.#deps.clock.timer(claimMs, () => void this.#supervisorEnded());
  }

  /**
   * Stops the process group: `stopSignal`, then SIGKILL after `timeoutMs`. Resolves when no process of the container is left
   * and its log is complete.
   *
   * @throws the signal's reason, or {@link AgentError} `cancelled` when the runtime is closed; the container may still run then
   */
  async stop(stopSignal: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#launched && this.state === 'created') await this.#started.wait(signal);
    if (this.state !== 'running') return;
    if (timeoutMs > 0 && this.#sendStop(stopSignal)) await this.#endedWithin(timeoutMs, signal);
    while (!this.#outcome) {
      this.#demandOpen();
      this.#signalGroup('SIGKILL');
      await this.#endedWithin(recheckMs, signal);
      void this.look(true);
    }
  }

  /** Continues in a new log file after rotation. */
  async reopenLog(): Promise<void> {
    if (this.state === 'running') await this.#pump.reopen();
  }

  /** Calls `listener` when there may be new raw output and when the container has exited. Returns a function that removes it. */
  onOutput(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Returns the number of bytes released from the start of its raw output. */
  freedOutput(stream: LogStream): number {
    return this.#pump.freed(stream);
  }

  /** Resolves when the container has exited. @throws {AgentError} `cancelled` when the runtime is closed before */
  async ended(signal?: AbortSignal): Promise<void> {
    await this.#ended.wait(signal);
    this.#demandOpen();
  }

  /**
   * Closes files and watches and ends all waits; the processes keep running. From now on nothing is read or written: another runtime may have
   * taken the container over, in this process too.
   */
  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#pump.close();
    this.#openAll();
  }

  /**
   * Reads what the supervisor has written. A call during another one makes that read once more.
   *
   * @param check also check whether command and supervisor are alive, in case the supervisor was killed
   */
  look(check = false): Promise<void> {
    this.#again = true;
    this.#check ||= check;
    this.#looking ??= this.#lookAll().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #lookAll(): Promise<void> {
    while (this.#again && !this.#outcome && !this.#closed) {
      const check = this.#check;
      this.#again = false;
      this.#check = false;
      try {
        await this.#lookOnce(check);
      } catch (cause) {
        this.#deps.logger.error('container state could not be read', {
          container: this.record.id,
          err: messageOf(cause),
        });
      }
    }
  }

  async #lookOnce(check: boolean): Promise<void> {
    if (!this.#identity && !this.#readIdentity()) return;
    if (!this.#identity) return;
    if (!existsSync(this.runDir)) {
      if (check && this.isGone()) this.#endLost();
      return;
    }
    await this.#pumpLog();
    if (this.#closed) return;
    for (const listener of this.#listeners) listener();
    const gone = check && this.isGone();
    const code = this.#exitCode();
    if (code === undefined && !gone) return;
    await this.#finish(this.#identity, code);
  }

  /** Converts output to the log. A full disk blocks nothing else: remaining output is converted later, or lost with the container's end. */
  async #pumpLog(final = false): Promise<void> {
    try {
      await this.#pump.pump(final);
      this.#silenced = false;
    } catch (reason) {
      const fields = { container: this.record.id, err: messageOf(reason) };
      if (final) this.#deps.logger.error('the last output of a container is lost', fields);
      else if (!this.#silenced)
        this.#deps.logger.error('the output of a container cannot be written', fields);
      this.#silenced = true;
    }
  }

  /** Reads the pid file. @returns true when the program has started */
  #readIdentity(): boolean {
    const path = join(this.runDir, 'pid');
    const identity = parseIdentity(readIfThere(path));
    if (!identity) return false;
    if (this.#isLaunching(identity, writtenAt(path))) {
      this.#lookSoon();
      return false;
    }
    if (this.#launchFailed(identity)) return false;
    this.#identity = identity;
    this.#startedAt = Math.round((writtenAt(path) ?? this.#deps.clock.now()) * nanosPerMs);
    rmSync(join(this.dir, 'launch.sh'), { force: true });
    this.#started.open();
    this.#deps.onChange(this, 'started');
    return true;
  }

  /** True until the launcher reports the start of the program, at most for {@link claimMs}. */
  #isLaunching({ pid, bootId }: ProcessIdentity, since: number | undefined): boolean {
    const age = this.#deps.clock.now() - (since ?? 0);
    if (bootId !== this.#deps.bootId || age >= claimMs) return false;
    const mark = launchMark(this.record.id);
    if (!mayHaveWord(pid, mark) || !this.#isWatched) return mayHaveWord(pid, mark);
    const child = firstChild(pid);
    return child === undefined ? !isDead(readStat(pid)) : mayHaveWord(child, mark);
  }

  /** True when the kernel refused the program. The launcher's error output does not become part of the container's log then. */
  #launchFailed({ supervisorPid, supervisorStartTicks }: ProcessIdentity): boolean {
    const code = Number.parseInt(readIfThere(join(this.runDir, 'fault')) ?? '', 10);
    if (Number.isNaN(code)) return false;
    if (this.#exitCode() === undefined && isAlive(supervisorPid, supervisorStartTicks)) this.#lookSoon();
    else {
      const errorText = readIfThere(join(this.runDir, 'stderr')) ?? '';
      this.failStart(this.#deps.launchFault(this.record, code, errorText));
    }
    return true;
  }

  #lookSoon(): void {
    this.#deps.clock.timer(launchingMs, () => void this.look(true));
  }

  /** True when the kernel has neither the command nor its supervisor. */
  isGone(): boolean {
    const identity = this.#identity;
    if (!identity) return false;
    if (identity.bootId !== this.#deps.bootId) return true;
    return (
      !isAlive(identity.supervisorPid, identity.supervisorStartTicks) &&
      !isAlive(identity.pid, identity.startTicks)
    );
  }

  /** Returns the exit code once the file is complete, i.e. its line has ended. */
  #exitCode(): number | undefined {
    const match = /^(\d+)\n/.exec(readIfThere(join(this.runDir, 'exit')) ?? '');
    return match ? Number(match[1]) : undefined;
  }

  async #finish(identity: ProcessIdentity, code: number | undefined): Promise<void> {
    const { clock, bootId } = this.#deps;
    if (identity.bootId === bootId) {
      const { pid, startTicks } = identity;
      await sweep({ containerId: this.record.id, leader: pid, startTicks }, this.#deps.processes, clock);
    }
    if (this.#closed) return;
    const how = { ...ending(code), ...(code !== undefined && this.#deps.ending(code)) };
    await this.#pumpLog(true);
    const finishedAt = (writtenAt(join(this.runDir, 'exit')) ?? clock.now()) * nanosPerMs;
    this.#end({ ...how, startedAt: this.#startedAt, finishedAt: Math.round(finishedAt) });
  }

  /** Marks the container as exited with unknown result after its directory was removed. */
  #endLost(): void {
    const finishedAt = this.#deps.clock.now() * nanosPerMs;
    const message = `the container's folder ${this.runDir} was removed while it ran`;
    this.#end({ exitCode: 255, reason: 'Unknown', message, startedAt: this.#startedAt, finishedAt });
  }

  #end(outcome: Outcome): void {
    if (this.#outcome || this.#closed) return;
    // An outcome that cannot be stored is read again from the supervisor's files by the next agent.
    const isStored = this.#succeeds('the outcome of a container cannot be stored', () => {
      if (existsSync(this.dir)) saveRecord(join(this.dir, 'outcome.json'), outcome);
    });
    this.#outcome = outcome;
    this.close();
    if (isStored)
      this.#succeeds('the run folder of a container cannot be removed', () => {
        rmSync(this.runDir, { recursive: true, force: true });
      });
    this.#deps.onChange(this, 'stopped');
    for (const listener of this.#listeners) listener();
  }

  /** Runs an operation on disk whose failure must not block the container's end. @param fault message to log on failure */
  #succeeds(fault: string, act: () => void): boolean {
    try {
      act();
      return true;
    } catch (reason) {
      this.#deps.logger.error(fault, { container: this.record.id, err: messageOf(reason) });
      return false;
    }
  }

  /** @throws {AgentError} `cancelled` when the runtime was closed before the container ended */
  #demandOpen(): void {
    if (this.#closed && !this.#outcome)
      throw new AgentError('cancelled', `the runtime of container ${this.record.id} is closed`);
  }

  #openAll(): void {
    this.#started.open();
    this.#ended.open();
  }

  async #supervisorEnded(): Promise<void> {
    await this.look(true);
    if (this.state === 'created') this.failStart('the supervisor ended before the container was started');
  }

  async #endedWithin(ms: number, signal?: AbortSignal): Promise<void> {
    const timer = new AbortController();
    const wait = signal ? AbortSignal.any([signal, timer.signal]) : timer.signal;
    const late = this.#deps.clock.sleep(ms, wait).catch(() => undefined);
    await Promise.race([this.#ended.wait(wait).catch(() => undefined), late]);
    timer.abort();
    signal?.throwIfAborted();
  }

  get #isWatched(): boolean {
    return this.record.image?.isWatched ?? false;
  }

  /**
   * Sends the stop signal: to the first process of a container from an image, as container runtimes do, otherwise to the process group.
   *
   * @returns true when it existed
   */
  #sendStop(signal: number): boolean {
    const { pid } = this;
    if (pid === undefined || !this.record.image) return this.#signalGroup(signal);
    const first = this.#isWatched ? firstChild(pid) : undefined;
    return first === undefined ? this.#signalFirst(signal) : sendSignal(first, signal);
  }

  #signalFirst(signal: number): boolean {
    const identity = this.#identity;
    if (identity?.bootId !== this.#deps.bootId) return false;
    return isAlive(identity.pid, identity.startTicks) && sendSignal(identity.pid, signal);
  }

  /** Signals the process group. @returns true when it existed */
  #signalGroup(signal: NodeJS.Signals | number): boolean {
    const identity = this.#identity;
    if (identity?.bootId !== this.#deps.bootId) return false;
    return isAlive(identity.pid, identity.startTicks) && sendSignal(-identity.pid, signal);
  }

  /** Creates the claim in place of the supervisor. @returns true when no supervisor has claimed, and none can any more */
  #claim(): boolean {
    try {
      closeSync(openSync(join(this.runDir, 'claim'), 'wx', 0o600));
      return true;
    } catch {
      return false;
    }
  }

  #watch(): void {
    const look = (): void => void this.look();
    try {
      this.#watcher = watch(this.runDir, { persistent: false }, look);
      this.#watcher.on('error', () => {
        this.#watcher?.close();
      });
    } catch (cause) {
      this.#deps.logger.warn('container cannot be watched; its output is read at each listing', {
        container: this.record.id,
        err: messageOf(cause),
      });
    }
  }
}

/** Creates the empty raw output files, owned by the user of the command. */
export function createRawFiles(runDir: string): void {
  for (const name of ['stdout', 'stderr']) writeFileSync(join(runDir, name), '', { mode: 0o600, flag: 'a' });
}

function ending(code: number | undefined): Pick<Outcome, 'exitCode' | 'reason' | 'message'> {
  if (code !== undefined) return { exitCode: code, reason: code === 0 ? 'Completed' : 'Error', message: '' };
  return {
    exitCode: 255,
    reason: 'Unknown',
    message: 'the container ended unobserved: the machine was restarted or its supervisor was killed',
  };
}

/** Parses the file `pid`: boot id, stat of the command, stat of the supervisor, `ok`. `undefined` until it is complete. */
export function parseIdentity(text: string | undefined): ProcessIdentity | undefined {
  const [bootId = '', own = '', supervisor = '', end] = text?.split('\n') ?? [];
  const command = parseStat(own);
  const parent = parseStat(supervisor);
  if (end !== 'ok' || command === undefined || parent === undefined) return undefined;
  return {
    bootId,
    pid: command.pid,
    startTicks: command.startTicks,
    supervisorPid: parent.pid,
    supervisorStartTicks: parent.startTicks,
  };
}

function isAlive(pid: number, startTicks: number): boolean {
  const stat = readStat(pid);
  return stat?.startTicks === startTicks && !isDead(stat);
}
