import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isAborted } from '../../base/abort.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { Counter } from '../../metrics/metrics.ts';
import type { KeyPair } from '../../pki/certificates.ts';
import type { Collector } from '../metrics/registry.ts';

export interface CertWatcherOptions {
  /** How often the files are read, ms; a change that the file system reports is read at once. Default 10 s. */
  readonly interval?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** CertWatcher reads a certificate and its key from files, and reads them again when they change. After controller-runtime's certwatcher. */
export class CertWatcher implements Collector {
  readonly certPath: string;
  readonly keyPath: string;
  readonly #interval: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #callbacks: ((pair: KeyPair) => void)[] = [];
  readonly #reads = new Counter('certwatcher_read_certificate_total', 'Total number of certificate reads');
  readonly #errors = new Counter(
    'certwatcher_read_certificate_errors_total',
    'Total number of certificate read errors',
  );
  #current: KeyPair | undefined;

  constructor(
    certPath: string,
    keyPath: string,
    { interval = 10_000, clock = systemClock, logger = silentLogger }: CertWatcherOptions = {},
  ) {
    this.certPath = certPath;
    this.keyPath = keyPath;
    this.#interval = interval;
    this.#clock = clock;
    this.#logger = logger;
    this.#reads.with({});
    this.#errors.with({});
  }

  /** The pair that was read last. @throws {AgentError} `failed_precondition` before the first read */
  get certificate(): KeyPair {
    if (this.#current) return this.#current;
    throw new AgentError('failed_precondition', `${this.certPath} has not been read yet`);
  }

  /** Calls `callback` with each new pair; at once when one was read already. */
  onChange(callback: (pair: KeyPair) => void): void {
    this.#callbacks.push(callback);
    if (this.#current) callback(this.#current);
  }

  /** Reads the files. @throws {AgentError} `invalid_argument` when they are no pair; the earlier pair stays in use */
  async readCertificate(): Promise<KeyPair> {
    this.#reads.add({});
    try {
      const [cert, key] = await Promise.all([
        readFile(this.certPath, 'utf8'),
        readFile(this.keyPath, 'utf8'),
      ]);
      if (cert === this.#current?.cert && key === this.#current.key) return this.#current;
      const pair = { cert, key };
      checkPair(pair);
      this.#current = pair;
      this.#logger.info('updated current TLS certificate', { cert: this.certPath });
      for (const callback of this.#callbacks) callback(pair);
      return pair;
    } catch (reason) {
      this.#errors.add({});
      throw new AgentError(
        'invalid_argument',
        `certificate ${this.certPath} and key ${this.keyPath}: ${messageOf(reason)}`,
        { cause: reason },
      );
    }
  }

  /** Reads the files until `signal` aborts. @throws when the first read fails */
  async start(signal: AbortSignal): Promise<void> {
    if (!this.#current) await this.readCertificate();
    let changed = Promise.withResolvers<undefined>();
    const watchers = this.#watch(() => {
      changed.resolve(undefined);
    });
    try {
      while (!isAborted(signal)) {
        const woken = new AbortController();
        await Promise.race([
          this.#clock.sleep(this.#interval, AbortSignal.any([signal, woken.signal])).catch(() => undefined),
          changed.promise,
        ]);
        woken.abort();
        changed = Promise.withResolvers<undefined>();
        if (isAborted(signal)) return;
        await this.readCertificate().catch((reason: unknown) => {
          this.#logger.error('error re-reading certificate', { err: messageOf(reason) });
        });
      }
    } finally {
      for (const watcher of watchers) watcher.close();
    }
  }

  collect(): readonly MetricFamily[] {
    return [this.#reads.collect(), this.#errors.collect()];
  }

  /** Watches the folders: a mounted Secret is replaced by a link beside the files. */
  #watch(changed: () => void): readonly FSWatcher[] {
    return [...new Set([this.certPath, this.keyPath].map((path) => dirname(path)))].flatMap((folder) => {
      try {
        const watcher = watch(folder, { persistent: false }, changed);
        watcher.on('error', (reason) => {
          this.#logger.warn('cannot watch the folder of the certificate', { folder, err: messageOf(reason) });
        });
        return [watcher];
      } catch (reason) {
        this.#logger.warn('cannot watch the folder of the certificate', { folder, err: messageOf(reason) });
        return [];
      }
    });
  }
}

/** @throws when the key does not belong to the certificate */
function checkPair({ cert, key }: KeyPair): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new AgentError('invalid_argument', 'the private key does not match the certificate');
}

/** Returns a watcher of a certificate and its key. */
export const certWatcher = (certPath: string, keyPath: string, options?: CertWatcherOptions): CertWatcher =>
  new CertWatcher(certPath, keyPath, options);
