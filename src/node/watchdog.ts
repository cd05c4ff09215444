import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { hostPrograms, type Programs } from '../base/programs.ts';

/** What systemd tells a service in its environment. */
export interface ServiceEnvironment {
  /** Where it listens; absent: nobody wants to be told. */
  readonly NOTIFY_SOCKET?: string | undefined;
  /** `WatchdogSec` of the unit, µs. */
  readonly WATCHDOG_USEC?: string | undefined;
  /** Whom that is for; absent: for whoever reads it. */
  readonly WATCHDOG_PID?: string | undefined;
}

export interface SystemdServiceDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Logger;
  /** This process's. */
  readonly pid: number;
  /** Default: the machine's own. */
  readonly programs?: Programs;
}

/** A shorter watchdog is taken for a mistake (kubelet), ms. */
const shortestMs = 1000;
const retry = { times: 2, pauseMs: 1000 };

/**
 * Tells systemd that the agent has started (`Type=notify`), and while it is well that it lives (`WatchdogSec=`): where it does not, systemd starts it anew. Node.js cannot write to
 * datagram sockets, so `systemd-notify` does, in the name of the process that started it.
 *
 * Follows kubelet `pkg/kubelet/watchdog`.
 */
export class SystemdService {
  readonly #deps: SystemdServiceDeps;
  readonly #listens: boolean;
  readonly #periodMs: number;

  /** @throws {AgentError} `invalid_argument` when the watchdog's time is no number, or a second or less */
  constructor(env: ServiceEnvironment, deps: SystemdServiceDeps) {
    this.#deps = deps;
    this.#listens = (env.NOTIFY_SOCKET ?? '') !== '';
    this.#periodMs = watchdogMs(env, deps.pid) / 2;
  }

  /** The agent has started. Never rejects: what cannot be told is logged. */
  async started(): Promise<void> {
    if (this.#listens) await this.#tell('--ready').catch(this.#failed);
  }

  /**
   * Gives signs of life until `signal` aborts, twice in the time of the watchdog, as long as nothing is wrong.
   *
   * @param fault what is wrong with the agent now
   */
  async watch(fault: () => string | undefined, signal: AbortSignal): Promise<void> {
    if (this.#periodMs === 0) return;
    const { clock, logger } = this.#deps;
    while (!signal.aborted) {
      const wrong = fault();
      if (wrong === undefined) await this.#sign(signal);
      else logger.error('systemd is given no sign of life: the agent is not well', { err: wrong });
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
    this.#deps.logger.error('systemd could not be told', { err: messageOf(reason) });
  };
}

/** Within which time systemd wants a sign of life, ms; 0: it wants none, or not from this process. */
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
