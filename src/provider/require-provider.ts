import { AgentError } from '../base/errors.ts';
import type { PodProvider } from './provider.ts';

/** The methods that every provider must have. */
const required = ['syncPod', 'killPod', 'listPods', 'getPodStatus'] as const;

/** Checks that a value is a provider. @throws {AgentError} `invalid_argument`, naming the missing methods */
export function requireProvider(provider: PodProvider): void {
  const candidate = provider as Partial<PodProvider> | null | undefined;
  if (typeof candidate !== 'object' || candidate === null)
    throw new AgentError(
      'invalid_argument',
      `a provider is an object, not ${candidate === null ? 'null' : typeof candidate}`,
    );
  const missing = required.filter((method) => typeof candidate[method] !== 'function');
  if (missing.length > 0)
    throw new AgentError(
      'invalid_argument',
      `the provider lacks ${missing.map((name) => `${name}()`).join(', ')}`,
    );
  if (typeof candidate.name !== 'string' || candidate.name === '')
    throw new AgentError(
      'invalid_argument',
      'the provider has no name: set `name` to a short word such as "rooms"',
    );
  for (const [call, ms] of Object.entries(candidate.deadlines ?? {}))
    if (typeof ms !== 'number' || !(ms > 0))
      throw new AgentError(
        'invalid_argument',
        `deadlines.${call} of the provider is ${String(ms)}, not a number of ms above 0`,
      );
}
