import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { FakeClock } from '../base/fake-clock.ts';
import { silentLogger as logger } from '../base/logger.ts';
import { systemRandom as random } from '../base/random.ts';
import type { MakeWorld, ProviderWorld } from '../conformance/subject.ts';
import { type ModuleLoading, providerFactory } from './provider-module.ts';

/** How worlds are made. */
export interface ConformanceWorlds extends ModuleLoading {
  /** The suite waits for real time; otherwise the provider is made with a clock that the suite moves. */
  readonly realTime: boolean;
}

/**
 * conformanceWorlds returns what makes a fresh world of a provider for each law: the memory provider, or that of a user's module, which is
 * called with `clock`, `logger`, `random`, `nodeName` and a `dataDir` of its own.
 *
 * @throws {AgentError} `invalid_argument` for a provider that cannot be made without a node
 */
export async function conformanceWorlds(name: string, options: ConformanceWorlds): Promise<MakeWorld> {
  if (name === 'memory') return memoryWorld;
  if (['process', 'oci', 'cri', 'eci', 'kubernetes'].includes(name))
    throw new AgentError(
      'invalid_argument',
      `--provider ${name}: needs a node around it, and real time; the suite checks memory, and modules such as ./provider.mjs`,
    );
  const make = await providerFactory(name, options);
  return async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'podtender-conformance-'));
    const clock = options.realTime ? systemClock : new FakeClock(systemClock.now());
    const open = async (): Promise<ProviderWorld['provider']> =>
      make({ clock, logger, random, nodeName: 'node', dataDir });
    return {
      provider: await open(),
      clock,
      close: () => rm(dataDir, { recursive: true, force: true }),
    };
  };
}

async function memoryWorld(): Promise<ProviderWorld> {
  const { MemoryProvider } = await import('../providers/memory/index.ts');
  const dir = await mkdtemp(join(tmpdir(), 'podtender-conformance-'));
  const clock = new FakeClock(systemClock.now());
  const open = () => new MemoryProvider({ clock, journal: join(dir, 'pods.jsonl') });
  let provider = open();
  return {
    provider,
    clock,
    failNext: (call, reason) => {
      provider.failNext(call, reason);
    },
    restart: async () => {
      await clock.advance(1000); // the journal is written
      provider = open();
      return provider;
    },
    close: () => rm(dir, { recursive: true, force: true }),
  };
}
