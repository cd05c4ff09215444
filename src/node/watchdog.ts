import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { hostPrograms, type Programs } from '../base/programs.ts';

/** Environment variables that systemd sets for a service. */
export interface ServiceEnvironment {
  /** Notification socket; absent: systemd expects no notifications. */
  readonly NOTIFY_SOCKET?: string | undefined;
  /** `WatchdogSec` of the unit, µs. */
  readonly WATCHDOG_USEC?: string | undefined;
  /** Pid of the process that the watchdog is for; absent: any. */
  readonly WATCHDOG_PID?: string | undefined;
}

export interface SystemdServiceDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Logger;
  /** Pid of this process. */
  readonly pid: number;
  /** Default: the machine's programs. */
  readonly programs?: Programs;
}

/** Minimum watchdog time, ms; a shorter one is rejected as a mistake, as in the kubelet. */
const shortestMs = 1000;
const retry = { times: 2, pauseMs: 1000 };

/**
 * SystemdService notifies systemd that the agent has started (`Type=notify`), and that it is healthy (`WatchdogSec=`); otherwise systemd
 * restarts it. Node.js cannot write to datagram sockets, so `systemd-notify` sends the messages on behalf of its parent process.
 *
 * Follows kubelet `pkg/kubelet/watchdog`.
 */
export class SystemdService {
  readonly #deps: SystemdServiceDeps;
  readonly #listens: boolean;
  readonly #periodMs: number;

  /** @throws {AgentError} `invalid_argument` when the watchdog time is not a number, or a second or less */
  constructor(env: ServiceEnvironment, deps: SystemdServiceDeps) {
    this.#deps = deps;
    this.#listens = (env.NOTIFY_SOCKET ?? '') !== '';
    this.#periodMs = watchdogMs(env, deps.pid) / 2;
  }

  /** Reports that the agent has started. Never rejects: failures are logged. */
  async started(): Promise<void> {
    if (this.#listens) await this.#tell('--ready').catch(this.#failed);
  }

  /**
   * Sends keep-alive messages twice per watchdog time until `signal` aborts, as long as there is no fault.
   *
   * @param fault returns what is currently wrong with the agent
   */
  async watch(fault: () => string | undefined, signal: AbortSignal): Promise<void> {
    if (this.#periodMs === 0) return;
    const { clock, logger } = this.#deps;
    while (!signal.aborted) {
      const wrong = fault();
      if (wrong === undefined) await this.#sign(signal);
      else logger.error('no keep-alive is sent to systemd: the agent is unhealthy', { err: wrong });
      await clock.sleep(this.#periodMs, signal).catch(() => undefined);
    }
  }

  async #sign(signal: AbortSignal): Promise<void> {
    if (!this.#listens) {
      this.#failed(new Error('NOTIFY_SOCKET is not set'));
      return;
    }
    for (let left = retry.times; !signal.aborted;) {
      const failure: unknown = await this.#tell('WATCHDOG=1').then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (failure === undefined) return;
      if (--left === 0) {
        this.#failed(failure);
        return;
      }
      await this.#deps.clock.sleep(retry.pauseMs, signal).catch(() => undefined);
    }
  }

  async #tell(what: string): Promise<void> {
    await (this.#deps.programs ?? hostPrograms).output('systemd-notify', [what]);
  }

  readonly #failed = (reason: unknown): void => {
    this.#deps.logger.error('systemd could not be notified', { err: messageOf(reason) });
  };
}

/** Returns the watchdog time in ms; 0: no watchdog, or not for this process. */
function watchdogMs(
  { WATCHDOG_USEC: wait = '', WATCHDOG_PID: whose = '' }: ServiceEnvironment,
  pid: number,
): number {
  if (wait === '') return 0;
  const ms = numberOf('WATCHDOG_USEC', wait) / 1000;
  if (whose !== '' && numberOf('WATCHDOG_PID', whose) !== pid) return 0;
  if (ms > shortestMs) return ms;
  throw wrong(`WATCHDOG_USEC=${wait} is too little: WatchdogSec= should be more than a second`);
}

function numberOf(name: string, text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw wrong(`${name}=${text} should be a whole number above 0`);
}

const wrong = (message: string): AgentError => new AgentError('invalid_argument', message);
