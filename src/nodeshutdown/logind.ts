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
  /** Default: the machine's programs. */
  readonly programs?: Programs;
}

/** Settings of {@link LogindShutdown}. */
export interface LogindSettings {
  /** Total shutdown grace period, seconds. */
  readonly graceSeconds: number;
  /** Ignore signals from senders other than logind; default: false, as in the kubelet. */
  readonly byLogindOnly?: boolean;
  /** File that raises logind's maximum delay; default: `/etc/systemd/logind.conf.d/99-podtender.conf`. */
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

/** On the system bus any process may send signals, and the kubelet does not check the sender. */
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

/** Prints a line once it runs, which is when the lock is held, and holds the lock until its stdin closes, also when this process dies. */
const holder = ['sh', '-c', 'echo held; exec cat'];

/** Minimum duration of a successful connection, ms. */
const wellMs = 10_000;

/** Delay before reconnecting, ms (kubelet `dbusReconnectPeriod`). */
const retryMs = 1000;

/**
 * LogindShutdown reports shutdowns announced by systemd-logind. It uses systemd's programs, as a lock is a file descriptor passed over
 * D-Bus, which Node.js cannot receive.
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

  /**
   * Reports shutdowns to the listener. Reconnects after a second when the bus connection ends; an error is logged once while it persists.
   */
  onShutdown(listener: (starting: boolean) => void): () => void {
    const stop = new AbortController();
    void this.#listen(listener, stop.signal);
    return () => {
      stop.abort();
    };
  }

  /**
   * Takes a delay inhibitor lock, and raises logind's maximum delay if needed.
   *
   * @throws {AgentError} `unavailable` when logind is not available, or allows less
   */
  async delay(): Promise<ReleaseShutdown> {
    await this.#allowDelay();
    const lock = await this.#lock();
    let requested = true;
    const ended = lock.ended.then((why) => {
      if (requested) this.#deps.logger.error('the lock that delays a shutdown is lost', { err: why });
    });
    return async () => {
      requested = false;
      lock.closeInput();
      await ended;
    };
  }

  /** Resolves when logind has granted the lock. */
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
      if (why !== last) logger.error('shutdowns of the machine cannot be observed', { err: why });
      last = why;
      await clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }

  async #allowDelay(): Promise<void> {
    const requested = this.#settings.graceSeconds;
    if ((await this.#allowedSeconds()) >= requested) return;
    await this.#override(requested);
    const allowed = await this.#allowedSeconds();
    if (allowed >= requested) return;
    throw new AgentError(
      'unavailable',
      `node shutdown manager was unable to update logind InhibitDelayMaxSec to ${requested}s (ShutdownGracePeriod), current value of InhibitDelayMaxSec (${allowed}s) is less than requested ShutdownGracePeriod`,
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
      '1', // SIGHUP: reload the configuration
    ]);
  }
}

/** Parses a line; `undefined` for other signals. */
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
