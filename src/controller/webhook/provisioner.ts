import { isAborted } from '../../base/abort.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { year } from '../../pki/certificates.ts';
import type { Client, ObjectKey } from '../types.ts';
import { type BundleStore, folderStore, secretStore } from './bundle-store.ts';
import { type InjectionTargets, injectAuthorities } from './ca-injection.ts';
import {
  type BundleTemplate,
  type CertificateBundle,
  renewalTime,
  renewedBundle,
} from './certificate-bundle.ts';

/** Which certificates are made, where they are kept, and who has to trust them. Times are ms. */
export interface CertificateProvisionerOptions extends InjectionTargets {
  /** DNS names and IP addresses of the certificate. */
  readonly hosts?: readonly string[];
  /** The Service of the webhooks: adds its DNS names to the hosts. */
  readonly service?: { readonly namespace: string; readonly name: string };
  /** Keeps certificate and authority in this Secret, which all replicas share; its namespace must exist. */
  readonly secret?: ObjectKey;
  /** Keeps them in this folder. Exactly one of `secret` and `directory` is required. */
  readonly directory?: string;
  /** How long a certificate is valid. Default 90 days. */
  readonly validity?: number;
  /** How long an authority is valid. Default 10 years. */
  readonly caValidity?: number;
  /** A certificate is replaced when it is valid for less than this. Default: a third of `validity`. */
  readonly renewBefore?: number;
  /** How often the Secret and the targets are looked at. Default 1 min; 5 s while a target is missing. */
  readonly checkInterval?: number;
}

export interface CertificateProvisionerDeps {
  readonly client: Client;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

const day = 24 * 3_600_000;
const missingMs = 5_000;
/** How long one pass may take, ms. */
const passMs = 30_000;
const attempts = 5;

/**
 * CertificateProvisioner makes the serving certificate of webhooks with an authority of its own, keeps both in a Secret or a folder, renews
 * them before they expire, and writes the authority into webhook configurations and the conversion of CustomResourceDefinitions.
 *
 * @example
 * const manager = new Manager({ connection, webhook: { provision: {
 *   service: { namespace: 'system', name: 'webhooks' },
 *   secret: { namespace: 'system', name: 'webhook-certificate' },
 *   validatingWebhooks: ['crontabs.example.com'],
 * } } });
 */
export class CertificateProvisioner {
  readonly #options: CertificateProvisionerOptions;
  readonly #template: BundleTemplate;
  readonly #store: BundleStore;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #callbacks: ((bundle: CertificateBundle) => void)[] = [];
  #current: CertificateBundle | undefined;
  #missing: readonly string[] = [];

  /** @throws {AgentError} `invalid_argument` for options that contradict each other */
  constructor(options: CertificateProvisionerOptions, deps: CertificateProvisionerDeps) {
    this.#options = options;
    this.#client = deps.client;
    this.#clock = deps.clock ?? systemClock;
    this.#logger = deps.logger ?? silentLogger;
    this.#template = templateOf(options);
    this.#store = storeOf(options, deps.client);
  }

  /** What is served; undefined before the first {@link ensure}. */
  get bundle(): CertificateBundle | undefined {
    return this.#current;
  }

  /** Calls `callback` with each new certificate. */
  onChange(callback: (bundle: CertificateBundle) => void): void {
    this.#callbacks.push(callback);
  }

  /**
   * Loads or makes the certificate and injects its authority; in that order clients trust a certificate before it is served.
   *
   * @throws {ApiError} when the Secret or a target cannot be read or written
   */
  async ensure(signal?: AbortSignal): Promise<CertificateBundle> {
    const bundle = await this.#renewed(signal);
    this.#missing = await injectAuthorities(this.#client, this.#options, bundle.ca);
    if (this.#missing.length > 0)
      this.#logger.warn('the authority cannot be injected: no such object, or none with a webhook', {
        missing: this.#missing,
      });
    const changed = this.#current && this.#current.cert !== bundle.cert;
    this.#current = bundle;
    if (changed) {
      this.#logger.info('the certificate of the webhooks was renewed');
      for (const callback of this.#callbacks) callback(bundle);
    }
    return bundle;
  }

  /** Keeps certificate and targets up to date until `signal` aborts. Failures are logged and tried again. */
  async start(signal: AbortSignal): Promise<void> {
    while (!isAborted(signal)) {
      const ready = this.#current !== undefined;
      if (ready) await this.#clock.sleep(this.#pause(), signal).catch(() => undefined);
      if (isAborted(signal)) return;
      await this.ensure(signal).catch(async (reason: unknown) => {
        this.#logger.error('the certificate of the webhooks cannot be kept up to date', {
          err: messageOf(reason),
        });
        if (!ready) await this.#clock.sleep(missingMs, signal).catch(() => undefined);
      });
    }
  }

  #pause(): number {
    const { checkInterval = 60_000 } = this.#options;
    const interval = this.#missing.length > 0 ? Math.min(missingMs, checkInterval) : checkInterval;
    const renewal = this.#current ? renewalTime(this.#current, this.#template) - this.#clock.now() : 0;
    return Math.max(1_000, Math.min(interval, renewal));
  }

  /** Returns the stored bundle, or stores a new one; what another replica has stored meanwhile counts. */
  async #renewed(signal: AbortSignal | undefined): Promise<CertificateBundle> {
    const began = this.#clock.now();
    for (let left = attempts; left > 0 && this.#clock.now() - began < passMs; left--) {
      signal?.throwIfAborted();
      const stored = await this.#store.load();
      const bundle = renewedBundle(stored, this.#clock.now(), this.#template);
      if (bundle === stored || (await this.#store.save(bundle))) return bundle;
    }
    throw new AgentError('conflict', 'the Secret of the webhooks is written by others all the time');
  }
}

function templateOf({
  hosts = [],
  service,
  validity = 90 * day,
  caValidity = 10 * year,
  renewBefore = validity / 3,
}: CertificateProvisionerOptions): BundleTemplate {
  const dns = service && `${service.name}.${service.namespace}.svc`;
  const all = [...(dns === undefined ? [] : [dns, `${dns}.cluster.local`]), ...hosts];
  if (all.length === 0) throw new AgentError('invalid_argument', 'provision: hosts or service is required');
  if (renewBefore >= validity || validity > caValidity)
    throw new AgentError(
      'invalid_argument',
      `provision: renewBefore (${renewBefore}) must be below validity (${validity}), and that at most caValidity (${caValidity})`,
    );
  return { hosts: all, validity, caValidity, renewBefore };
}

function storeOf({ secret, directory }: CertificateProvisionerOptions, client: Client): BundleStore {
  if (secret && directory === undefined) return secretStore(client, secret);
  if (!secret && directory !== undefined) return folderStore(directory);
  throw new AgentError('invalid_argument', 'provision: exactly one of secret and directory is required');
}
