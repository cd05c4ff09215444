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

/** What a certificate manager works with. */
export interface CertificateManagerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly store: CertificateStore;
  readonly signerName: SignerName;
  /** What the certificate is to say now; nothing: that is not known yet. */
  readonly template: () => CertificateTemplate | undefined;
  /** Who asks; given what there is, that can have expired. */
  readonly client: (current: Certificate | undefined) => SigningClient;
  /** A certificate to begin with, where the store has none that is in force; it is exchanged at once. */
  readonly initial?: Certificate;
  /** `false`: once there is a certificate, no other is asked for. */
  readonly rotate?: boolean;
}

/** How it has gone. */
export interface CertificateStats {
  /** Requests that did not come to a certificate. */
  readonly failures: number;
  /** How long each certificate was in use when it was replaced, s. */
  readonly servedSeconds: readonly number[];
}

/** Between two rounds, ms (client-go: `wait.Until(…, time.Second)`). */
const roundMs = 1000;
/** How long a request may wait to be decided, ms. */
const patienceMs = 15 * 60_000;
/** A round's waits after failures: 2 s doubling, then this, ms. */
const steadyBackOffMs = 32_000;
const backOffSteps = 5;
/** A timer can be no longer, ms. */
const longestSleepMs = 24 * 3_600_000;
/** How many spans of use are remembered. */
const mostRemembered = 100;

/**
 * Keeps a certificate in force: asks the API server for the first one, and for another before it expires or when it no longer says what it should.
 *
 * Follows client-go `certificate.Manager`; see docs/fidelity.md for what a restart finds again.
 */
export class CertificateManager {
  /** Told of each certificate from now on. */
  onCertificate: ((certificate: Certificate) => void) | undefined;
  readonly #deps: CertificateManagerDeps;
  #current: Certificate | undefined;
  /** When it is to be renewed, ms since the epoch. */
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

  /** The certificate in use; it can have expired. */
  get current(): Certificate | undefined {
    return this.#current;
  }

  /** Why the last request came to nothing; nothing: it did not. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  get stats(): CertificateStats {
    return { failures: this.#failures, servedSeconds: this.#servedSeconds };
  }

  /** Takes what is stored. To be called once, before {@link run}. */
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
      logger.error('a stored certificate cannot be used; another is asked for', { err: messageOf(reason) });
      return undefined;
    }
  }

  /** A key that is already in the certificate belongs to a request that is done. */
  #dropSpentKey(stored: Certificate): void {
    const { store } = this.#deps;
    if (store.keptKey()?.trim() === stored.key.trim()) store.dropPendingKey();
  }

  /** What the certificate is to say has changed, perhaps. */
  templateChanged(): void {
    const wanted = this.#deps.template();
    const { template, stop } = this.#requesting ?? {};
    if (wanted && template && !sameTemplate(wanted, template)) stop?.abort(new Error('the wish has changed'));
    if (this.#satisfied()) return;
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  /** Keeps the certificate in force until `signal` aborts; never fails. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!isAborted(signal)) {
      await this.#round(signal).catch((reason: unknown) => {
        if (!isAborted(signal))
          this.#deps.logger.error('the rotation of a certificate broke off', { err: messageOf(reason) });
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
      // a timer that was cut short for its length, or a change of nothing that the certificate lacks
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

  /** When the next request is due, ms since the epoch. */
  #deadline(): number {
    const { clock, rotate = true } = this.#deps;
    if (this.#forced || !this.#satisfied()) return clock.now();
    return rotate ? this.#dueAt : Infinity;
  }

  #satisfied(): boolean {
    const template = this.#deps.template();
    return this.#current !== undefined && (!template || satisfies(this.#current, template));
  }

  /** Tries until there is a certificate: 2 s, doubling, then every 32 s. */
  async #persist(signal: AbortSignal): Promise<void> {
    for (let step = 0; !isAborted(signal); step++) {
      const template = this.#deps.template();
      if (!template || (await this.#try(template, signal))) return;
      const base = step < backOffSteps ? 2000 * 2 ** step : steadyBackOffMs;
      await this.#sleep(jitter(this.#deps.random, base, 0.1), signal);
    }
  }

  /** @returns whether there is another certificate now */
  async #try(template: CertificateTemplate, signal: AbortSignal): Promise<boolean> {
    const stop = new AbortController();
    this.#requesting = { template, stop };
    const stopTimer = this.#deps.clock.timer(patienceMs, () => {
      stop.abort(new Error(`nobody has decided within ${patienceMs / 60_000} min`));
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

  /** A signer that leaves things out, or issues for next to no time, is not asked again and again without a pause. */
  #isOfUse(certificate: Certificate): boolean {
    const { clock, logger, signerName } = this.#deps;
    if (this.#satisfied() && this.#dueAt > clock.now()) return true;
    logger.error('the certificate is not what was asked for, or is old already', {
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
      // what was decided stays so: another try is another request; what did not get through is the same one
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
