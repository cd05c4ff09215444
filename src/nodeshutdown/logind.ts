import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isAborted } from '../base/abort.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { type Clock, steadyNow } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { hostPrograms, type Programs, type RunningProgram } from '../base/programs.ts';
import type { ReleaseShutdown, ShutdownSource } from './shutdown-manager.ts';

export interface LogindDeps {
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly logger: Logger;
  /** Default: the machine's own. */
  readonly programs?: Programs;
}

/** The settings of {@link LogindShutdown}. */
export interface LogindSettings {
  /** How long a whole shutdown has to be held up, seconds. */
  readonly graceSeconds: number;
  /** What others than logind announce is not believed; default: it is, as by the kubelet. */
  readonly byLogindOnly?: boolean;
  /** Where logind is told to allow that; default: `/etc/systemd/logind.conf.d/99-podtender.conf`. */
  readonly overrideFile?: string;
}

const manager = [
  'org.freedesktop.login1',
  '/org/freedesktop/login1',
  'org.freedesktop.login1.Manager',
] as const;
const systemd = [
  'org.freedesktop.systemd1',
  '/org/freedesktop/systemd1',
  'org.freedesktop.systemd1.Manager',
] as const;
const defaultOverrideFile = '/etc/systemd/logind.conf.d/99-podtender.conf';

/** On the system bus anybody may send signals, and the kubelet asks nobody who they are. */
const matchOf = (sender: string | undefined): string =>
  [
    "type='signal'",
    ...(sender === undefined ? [] : [`sender='${sender}'`]),
    `path='${manager[1]}'`,
    `interface='${manager[2]}'`,
    "member='PrepareForShutdown'",
  ].join(',');

const inhibitor = [
  '--what=shutdown',
  '--mode=delay',
  '--who=podtender',
  '--why=Pods are ended before the node shuts down',
];

/** Says that it runs, which it does once the lock is held, and holds it until its input ends: also when this process dies. */
const holder = ['sh', '-c', 'echo held; exec cat'];

/** Who listened for this long was well, ms. */
const wellMs = 10_000;

/** Between two tries to listen, ms (kubelet `dbusReconnectPeriod`). */
const retryMs = 1000;

/**
 * Shutdowns as systemd-logind announces them. It is asked with systemd's own programs, since a lock is an open file that logind hands
 * over, which Node.js cannot take.
 *
 * Follows kubelet `nodeshutdown/systemd.DBusCon`.
 */
export class LogindShutdown implements ShutdownSource {
  readonly #deps: LogindDeps;
  readonly #programs: Programs;
  readonly #settings: LogindSettings;

  constructor(deps: LogindDeps, settings: LogindSettings) {
    this.#deps = deps;
    this.#programs = deps.programs ?? hostPrograms;
    this.#settings = settings;
  }

  /** Listens again, a second later, whenever the bus breaks off; a fault is said once while it lasts. */
  onShutdown(listener: (starting: boolean) => void): () => void {
    const stop = new AbortController();
    void this.#listen(listener, stop.signal);
    return () => {
      stop.abort();
    };
  }

  /**
   * Takes a delaying lock, and has logind allow as long a delay as is needed.
   *
   * @throws {AgentError} `unavailable` when there is no logind, or it allows less
   */
  async delay(): Promise<ReleaseShutdown> {
    await this.#allowDelay();
    const lock = await this.#lock();
    let wanted = true;
    const ended = lock.ended.then((why) => {
      if (wanted) this.#deps.logger.error('the lock that delays a shutdown is lost', { err: why });
    });
    return async () => {
      wanted = false;
      lock.closeInput();
      await ended;
    };
  }

  /** Resolves once logind has given the lock. */
  #lock(): Promise<RunningProgram> {
    return new Promise((resolve, reject) => {
      const lock = this.#programs.start('systemd-inhibit', [...inhibitor, ...holder], () => {
        resolve(lock);
      });
      void lock.ended.then((why) => {
        reject(new AgentError('unavailable', why));
      });
    });
  }

  async #listen(listener: (starting: boolean) => void, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const match = matchOf(this.#settings.byLogindOnly === true ? manager[0] : undefined);
    const args = ['--system', '--json=short', `--match=${match}`, 'monitor'];
    let last = '';
    while (!signal.aborted) {
      const monitor = this.#programs.start('busctl', args, (line) => {
        const starting = startingOf(line);
        if (starting !== undefined && !signal.aborted) listener(starting);
      });
      const stop = (): void => {
        monitor.stop();
      };
      signal.addEventListener('abort', stop);
      const since = steadyNow(clock);
      const why = await monitor.ended;
      signal.removeEventListener('abort', stop);
      if (isAborted(signal)) return;
      if (steadyNow(clock) - since > wellMs) last = '';
      if (why !== last) logger.error('shutdowns of the machine are not seen', { err: why });
      last = why;
      await clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }

  async #allowDelay(): Promise<void> {
    const wanted = this.#settings.graceSeconds;
    if ((await this.#allowedSeconds()) >= wanted) return;
    await this.#override(wanted);
    const allowed = await this.#allowedSeconds();
    if (allowed >= wanted) return;
    throw new AgentError(
      'unavailable',
      `node shutdown manager was unable to update logind InhibitDelayMaxSec to ${wanted}s (ShutdownGracePeriod), current value of InhibitDelayMaxSec (${allowed}s) is less than requested ShutdownGracePeriod`,
    );
  }

  async #allowedSeconds(): Promise<number> {
    const text = await this.#programs.output('busctl', [
      '--system',
      'get-property',
      ...manager,
      'InhibitDelayMaxUSec',
    ]);
    const micros = /^t (\d+)\s*$/.exec(text)?.[1];
    if (micros === undefined)
      throw new AgentError('unavailable', `logind does not say how long a shutdown may be delayed: ${text}`);
    return Number(micros) / 1e6;
  }

  async #override(seconds: number): Promise<void> {
    const { overrideFile = defaultOverrideFile } = this.#settings;
    try {
      await mkdir(dirname(overrideFile), { recursive: true, mode: 0o755 });
      await writeFile(
        overrideFile,
        `# Written by podtender\n[Login]\nInhibitDelayMaxSec=${Math.ceil(seconds)}\n`,
      );
    } catch (cause) {
      throw new AgentError('unavailable', `logind cannot be configured: ${messageOf(cause)}`, { cause });
    }
    await this.#programs.output('busctl', [
      '--system',
      'call',
      ...systemd,
      'KillUnit',
      'ssi',
      'systemd-logind.service',
      'all',
      '1', // SIGHUP: it reads its configuration again
    ]);
  }
}

/** `undefined`: not what we listen for. */
function startingOf(line: string): boolean | undefined {
  try {
    const { member, payload } = JSON.parse(line) as {
      readonly member?: string;
      readonly payload?: { readonly data?: readonly unknown[] };
    };
    const [starting] = payload?.data ?? [];
    return member === 'PrepareForShutdown' && typeof starting === 'boolean' ? starting : undefined;
  } catch {
    return undefined;
  }
}
