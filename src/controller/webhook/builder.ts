import { AgentError } from '../../base/errors.ts';
import type { Manager } from '../manager/manager.ts';
import type { Kind, KubeObject } from '../types.ts';
import { type ConversionWebhook, conversion, type HubAndSpokes } from './conversion.ts';
import { type DefaultFunc, defaulter, validator, type Validator } from './typed-handlers.ts';

/** WebhookBuilder registers the webhooks of one kind with a manager. */
export interface WebhookBuilder<T extends KubeObject> {
  /** Sets defaults; served at `/mutate-<group>-<version>-<kind>`, with dashes for the dots of the group. */
  withDefaulter(setDefaults: DefaultFunc<T> | { readonly default: DefaultFunc<T> }): WebhookBuilder<T>;
  /** Validates; served at `/validate-<group>-<version>-<kind>`. */
  withValidator(functions: Validator<T>): WebhookBuilder<T>;
  /** Converts between versions; served at `/convert`, together with the other kinds of the manager. */
  withConverter<H extends KubeObject>(family: HubAndSpokes<H>): WebhookBuilder<T>;
  withDefaulterCustomPath(path: string): WebhookBuilder<T>;
  withValidatorCustomPath(path: string): WebhookBuilder<T>;
  /** Whether panics of the handlers are answered with 500. Default true. */
  recoverPanic(recover: boolean): WebhookBuilder<T>;
  /** Registers the webhooks. @throws {AgentError} `invalid_argument` when there is none; `already_exists` when a path is taken */
  complete(): void;
}

/**
 * Returns a builder of the webhooks of a kind.
 *
 * @example
 * newWebhookManagedBy(manager, CronTab).withDefaulter(setDefaults).withValidator(rules).complete();
 */
export const newWebhookManagedBy = <T extends KubeObject>(
  manager: Manager,
  kind: Kind<T>,
): WebhookBuilder<T> => new Builder(manager, kind);

const suffixOf = ({ group, version, kind }: Kind): string =>
  `${group.replaceAll('.', '-')}-${version}-${kind.toLowerCase()}`;

/** The path at which the API server calls the defaulter of a kind. */
export const mutatePath = (kind: Kind): string => `/mutate-${suffixOf(kind)}`;
/** The path at which the API server calls the validator of a kind. */
export const validatePath = (kind: Kind): string => `/validate-${suffixOf(kind)}`;

/** The conversion webhook of each manager: all kinds share its path. */
const converters = new WeakMap<Manager, ConversionWebhook>();

class Builder<T extends KubeObject> implements WebhookBuilder<T> {
  readonly #manager: Manager;
  readonly #kind: Kind<T>;
  #setDefaults: DefaultFunc<T> | { readonly default: DefaultFunc<T> } | undefined;
  #functions: Validator<T> | undefined;
  #family: HubAndSpokes | undefined;
  #paths: { readonly mutate: string; readonly validate: string };
  #recoverPanic = true;

  constructor(manager: Manager, kind: Kind<T>) {
    this.#manager = manager;
    this.#kind = kind;
    this.#paths = { mutate: mutatePath(kind), validate: validatePath(kind) };
  }

  withDefaulter(setDefaults: DefaultFunc<T> | { readonly default: DefaultFunc<T> }): WebhookBuilder<T> {
    this.#setDefaults = setDefaults;
    return this;
  }

  withValidator(functions: Validator<T>): WebhookBuilder<T> {
    this.#functions = functions;
    return this;
  }

  withConverter<H extends KubeObject>(family: HubAndSpokes<H>): WebhookBuilder<T> {
    this.#family = family;
    return this;
  }

  withDefaulterCustomPath(path: string): WebhookBuilder<T> {
    this.#paths = { ...this.#paths, mutate: path };
    return this;
  }

  withValidatorCustomPath(path: string): WebhookBuilder<T> {
    this.#paths = { ...this.#paths, validate: path };
    return this;
  }

  recoverPanic(recover: boolean): WebhookBuilder<T> {
    this.#recoverPanic = recover;
    return this;
  }

  complete(): void {
    if (!this.#setDefaults && !this.#functions && !this.#family)
      throw new AgentError(
        'invalid_argument',
        `webhooks of ${this.#kind.kind}: call withDefaulter(), withValidator() or withConverter()`,
      );
    const server = this.#manager.webhookServer;
    const options = { recoverPanic: this.#recoverPanic };
    if (this.#setDefaults)
      server.register(this.#paths.mutate, defaulter(this.#kind, this.#setDefaults, options));
    if (this.#functions)
      server.register(this.#paths.validate, validator(this.#kind, this.#functions, options));
    if (this.#family) this.#convert(this.#family);
  }

  #convert(family: HubAndSpokes): void {
    const shared = converters.get(this.#manager);
    if (shared) {
      shared.add(family);
      return;
    }
    const webhook = conversion(family);
    this.#manager.webhookServer.register('/convert', webhook);
    converters.set(this.#manager, webhook);
  }
}
