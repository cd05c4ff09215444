import { AgentError } from '../base/errors.ts';
import type { PodProvider } from './provider.ts';

/** Makes a provider from its settings. Called once when the agent starts. */
export type ProviderFactory = (
  settings: Readonly<Record<string, unknown>>,
) => PodProvider | Promise<PodProvider>;

/** The key of the registry, which is global to the process: the command and a provider's module may each have a copy of this package. */
const registry = Symbol.for('podtender.providers');

function factories(): Map<string, ProviderFactory> {
  const shared = Reflect.get(globalThis, registry) as Map<string, ProviderFactory> | undefined;
  if (shared) return shared;
  const first = new Map<string, ProviderFactory>();
  Reflect.set(globalThis, registry, first);
  return first;
}

/** Returns the factories of all registered providers, by name. */
export const registeredProviders = (): ReadonlyMap<string, ProviderFactory> => factories();

/**
 * Registers a provider under `name`, for {@link createProvider} and for `--provider FILE`, which loads the file that makes this call.
 *
 * @example
 * registerProvider('rooms', (settings) => new RoomsProvider(settings));
 *
 * @throws {AgentError} `already_exists` when the name is taken
 */
export function registerProvider(name: string, factory: ProviderFactory): void {
  if (factories().has(name))
    throw new AgentError('already_exists', `provider "${name}" is registered already`);
  factories().set(name, factory);
}

/**
 * Makes the provider that is registered under `name`. @throws {AgentError} `not_found`, naming the registered providers
 *
 * @example
 * const provider = await createProvider('rooms', { floors: 3 });
 */
export async function createProvider(
  name: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<PodProvider> {
  const factory = factories().get(name);
  if (factory) return factory(settings);
  const names = [...factories().keys()].sort().join(', ') || 'none';
  throw new AgentError('not_found', `no provider "${name}" is registered; there are: ${names}`);
}
