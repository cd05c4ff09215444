import { AgentError } from '../base/errors.ts';
import type { PodProvider } from './provider.ts';

/** Makes a provider from its settings; called once when the agent starts. */
export type ProviderFactory = (
  settings: Readonly<Record<string, unknown>>,
) => PodProvider | Promise<PodProvider>;

const factories = new Map<string, ProviderFactory>();

/**
 * Makes a provider known under `name`, for `--provider name` and {@link createProvider}.
 *
 * @throws {AgentError} `already_exists` when the name is taken
 */
export function registerProvider(name: string, factory: ProviderFactory): void {
  if (factories.has(name)) throw new AgentError('already_exists', `provider "${name}" is registered already`);
  factories.set(name, factory);
}

/** @throws {AgentError} `not_found`, naming the providers that there are */
export async function createProvider(
  name: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<PodProvider> {
  const factory = factories.get(name);
  if (factory) return factory(settings);
  const known = [...factories.keys()].sort().join(', ') || 'none';
  throw new AgentError('not_found', `no provider "${name}" is registered; there are: ${known}`);
}
