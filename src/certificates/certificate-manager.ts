import { ApiError } from '../api/client.ts';
import type { Clock } from '../base/clock.ts';
import { isAborted } from '../base/abort.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { jitter, type Random } from '../base/random.ts';
import {
  type Certificate,
  type CertificateTemplate,
  readCertificate,
  rotationDeadline,
  sameTemplate,
  satisfies,
} from './certificate.ts';
import type { CertificateStore } from './certificate-store.ts';
import {
  requestCertificate,
  type SignerName,
  type SigningClient,
  waitForCertificate,
} from './signing-request.ts';

/** Dependencies of CertificateManager. */
export interface CertificateManagerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly store: CertificateStore;
  readonly signerName: SignerName;
  /** Returns the template of the certificate; `undefined` while it is not known. */
  readonly template: () => CertificateTemplate | undefined;
  /** Returns the API client for requests, by the current certificate, which may have expired. */
  readonly client: (current: Certificate | undefined) => SigningClient;
  /** Certificate to start with when the store has no valid one; it is replaced at once. */
  readonly initial?: Certificate;
  /** False: a certificate is not renewed. */
  readonly rotate?: boolean;
}

/** Statistics of a certificate manager. */
export interface CertificateStats {
  /** Number of requests that failed. */
  readonly failures: number;
  /** How long each replaced certificate was in use, seconds. */
  readonly servedSeconds: readonly number[];
}

/** Interval between rounds, ms (client-go: `wait.Until(…, time.Second)`). */
const roundMs = 1000;
/** Time limit for the decision about a request, ms. */
const patienceMs = 15 * 60_000;
/** Delay after further failures, ms; the first ones start at 2 s and double. */
const steadyBackOffMs = 32_000;
const backOffSteps = 5;
/** Maximum duration of a timer, ms. */
const longestSleepMs = 24 * 3_600_000;
/** Maximum number of durations to remember. */
const mostRemembered = 100;

/**
 * CertificateManager keeps a certificate valid: it requests the first one, and another before it expires or when its template changes.
 *
 * Follows client-go `certificate.Manager`; see docs/fidelity.md for what a restart finds again.
 */
export class CertificateManager {
  /** Called with each new certificate. */
  onCertificate: ((certificate: Certificate) => void) | undefined;
  readonly #deps: CertificateManagerDeps;
  #current: Certificate | undefined;
  /** Time of the next renewal, ms since the epoch. */
  #dueAt = 0;
  #forced = false;
  #failures = 0;
  readonly #servedSeconds: number[] = [];
  #lastError: string | undefined;
  #wake = new AbortController();
  #requesting: { readonly template: CertificateTemplate; readonly stop: AbortController } | undefined;

  constructor(deps: CertificateManagerDeps) {
    this.#deps = deps;
  }

  /** The current certificate; it may have expired. */
  get current(): Certificate | undefined {
    return this.#current;
  }

  /** Error of the last request; `undefined` when it succeeded. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  get stats(): CertificateStats {
    return { failures: this.#failures, servedSeconds: this.#servedSeconds };
  }

  /** Loads the stored certificate. Call once, before {@link run}. */
  load(): void {
    const { clock, initial } = this.#deps;
    const stored = this.#stored();
    if (stored && clock.now() < stored.notAfter) {
      this.#take(stored);
      this.#dropSpentKey(stored);
    } else if (initial) {
      this.#forced = true;
      this.#take(initial);
    } else if (stored) this.#take(stored);
  }

  #stored(): Certificate | undefined {
    const { store, logger } = this.#deps;
    try {
      return store.current();
    } catch (reason) {
      logger.error('the stored certificate cannot be used; another one is requested', {
        err: messageOf(reason),
      });
      return undefined;
    }
  }

  /** Drops a pending key that the stored certificate already contains: its request is complete. */
  #dropSpentKey(stored: Certificate): void {
    const { store } = this.#deps;
    if (store.keptKey()?.trim() === stored.key.trim()) store.dropPendingKey();
  }

  /** Checks whether the template has changed, and requests a new certificate if needed. */
  templateChanged(): void {
    const desired = this.#deps.template();
    const { template, stop } = this.#requesting ?? {};
    if (desired && template && !sameTemplate(desired, template))
      stop?.abort(new Error('the template has changed'));
    if (this.#satisfied()) return;
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  /** Keeps the certificate valid until `signal` aborts; never fails. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!isAborted(signal)) {
      await this.#round(signal).catch((reason: unknown) => {
        if (!isAborted(signal))
          this.#deps.logger.error('certificate rotation failed', { err: messageOf(reason) });
      });
      await clock.sleep(roundMs, signal).catch(() => undefined);
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const wait = this.#deadline() - this.#deps.clock.now();
    if (wait > 0) {
      const until = AbortSignal.any([signal, this.#wake.signal]);
      await this.#sleep(wait, until);
      if (isAborted(signal)) return;
      // A shortened timer, or a template change that the certificate already satisfies.
      if (isAborted(until) ? this.#satisfied() : wait > longestSleepMs) return;
    }
    if (this.#deps.template() === undefined) {
      await this.#sleep(longestSleepMs, AbortSignal.any([signal, this.#wake.signal]));
      return;
    }
    await this.#persist(signal);
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#deps.clock.sleep(Math.min(ms, longestSleepMs), signal).catch(() => undefined);
  }

  /** Returns when the next request is due, ms since the epoch. */
  #deadline(): number {
    const { clock, rotate = true } = this.#deps;
    if (this.#forced || !this.#satisfied()) return clock.now();
    return rotate ? this.#dueAt : Infinity;
  }

  #satisfied(): boolean {
    const template = this.#deps.template();
    return this.#current !== undefined && (!template || satisfies(this.#current, template));
  }

  /** Retries until there is a certificate: after 2 s, doubling, then every 32 s. */
  async #persist(signal: AbortSignal): Promise<void> {
    for (let step = 0; !isAborted(signal); step++) {
      const template = this.#deps.template();
      if (!template || (await this.#try(template, signal))) return;
      const base = step < backOffSteps ? 2000 * 2 ** step : steadyBackOffMs;
      await this.#sleep(jitter(this.#deps.random, base, 0.1), signal);
    }
  }

  /** Makes one request. @returns true when there is a new certificate */
  async #try(template: CertificateTemplate, signal: AbortSignal): Promise<boolean> {
    const stop = new AbortController();
    this.#requesting = { template, stop };
    const stopTimer = this.#deps.clock.timer(patienceMs, () => {
      stop.abort(new Error(`the request was not decided within ${patienceMs / 60_000} min`));
    });
    try {
      const certificate = await this.#request(template, AbortSignal.any([signal, stop.signal]));
      this.#deps.store.update(certificate, this.#deps.clock.now());
      this.#forced = false;
      this.#take(certificate);
      return this.#isOfUse(certificate);
    } catch (reason) {
      if (!isAborted(signal)) this.#failed(reason);
      return false;
    } finally {
      stopTimer();
      this.#requesting = undefined;
    }
  }

  /**
   * True when a certificate satisfies the template and is not nearly expired; otherwise requests are delayed, so that such a signer is not
   * called in a loop.
   */
  #isOfUse(certificate: Certificate): boolean {
    const { clock, logger, signerName } = this.#deps;
    if (this.#satisfied() && this.#dueAt > clock.now()) return true;
    logger.error('the issued certificate does not match the request, or has nearly expired', {
      signer: signerName,
      names: certificate.leaf.subjectAltName ?? '',
      expires: new Date(certificate.notAfter).toISOString(),
    });
    return false;
  }

  async #request(template: CertificateTemplate, signal: AbortSignal): Promise<Certificate> {
    const { store, client, signerName, clock } = this.#deps;
    const key = store.pendingKey();
    const asker = client(this.#current);
    try {
      const pending = await requestCertificate(asker, { template, signerName, key }, signal);
      const cert = await waitForCertificate(asker, pending, clock, signal);
      const certificate = readCertificate(`${cert.trimEnd()}\n${key}`);
      if (certificate.notAfter > clock.now()) return certificate;
      const until = new Date(certificate.notAfter).toISOString();
      throw new AgentError('failed_precondition', `the certificate for ${pending.name} expired at ${until}`);
    } catch (reason) {
      // A decided request stays decided, so a retry needs another one; a request that was not submitted is retried with the same key.
      if (reason instanceof AgentError && !(reason instanceof ApiError)) store.dropPendingKey();
      throw reason;
    }
  }

  #failed(reason: unknown): void {
    this.#failures++;
    this.#lastError = messageOf(reason);
    const { logger, signerName } = this.#deps;
    logger.error('no certificate was issued', { signer: signerName, err: this.#lastError });
  }

  #take(certificate: Certificate): void {
    const { clock, logger, signerName } = this.#deps;
    const old = this.#current;
    if (old) {
      this.#servedSeconds.push((clock.now() - old.notBefore) / 1000);
      if (this.#servedSeconds.length > mostRemembered) this.#servedSeconds.shift();
    }
    this.#current = certificate;
    this.#dueAt = rotationDeadline(certificate, this.#deps.random);
    this.#lastError = undefined;
    logger.info('a certificate is in use', {
      signer: signerName,
      serial: certificate.leaf.serialNumber,
      expires: new Date(certificate.notAfter).toISOString(),
      renewal: new Date(this.#dueAt).toISOString(),
    });
    this.onCertificate?.(certificate);
  }
}
