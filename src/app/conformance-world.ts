import { resolve } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { FakeClock } from '../base/fake-clock.ts';
import { silentLogger as logger } from '../base/logger.ts';
import { systemRandom as random } from '../base/random.ts';
import type { MakeWorld, ProviderWorld } from '../conformance/world.ts';
import { kubernetesWorld } from './conformance-backing-world.ts';
import { type CriSubject, criWorlds, eciWorld, memoryWorld, mockWorld } from './conformance-own-worlds.ts';
import { ociWorlds, processWorld } from './conformance-process-worlds.ts';
import { lawFolder } from './conformance-world-parts.ts';
import { type ModuleLoading, providerFactory } from './provider-module.ts';

/** How worlds are made. */
export interface ConformanceWorlds extends ModuleLoading {
  /** The suite waits for real time; otherwise the provider is made with a clock that the suite moves. */
  readonly realTime: boolean;
  /** The runtime that `cri` checks; for `oci` the path of an image archive. */
  readonly runtime?: Partial<CriSubject>;
}

/** What is checked, and how long that takes. */
export interface ConformanceSubject {
  readonly make: MakeWorld;
  /** The provider keeps real time, for which the suite waits. */
  readonly isRealTime: boolean;
}

const criDefaults: CriSubject = { endpoint: 'unix:///run/containerd/containerd.sock', image: 'busybox' };

/**
 * conformanceSubject returns what makes a fresh world of a provider for each law: one of the command's own (`memory`, `process`, `oci`, `cri`, `eci`
 * over a double of the service, `kubernetes` over an embedded backing cluster, `mock`), or that of a user's module, which is called with
 * `clock`, `logger`, `random`, `nodeName` and a `dataDir` of its own.
 */
export async function conformanceSubject(
  name: string,
  options: ConformanceWorlds,
): Promise<ConformanceSubject> {
  switch (name) {
    case 'memory':
      return { make: memoryWorld, isRealTime: false };
    case 'eci':
      return { make: eciWorld, isRealTime: false };
    case 'mock':
      return { make: mockWorld, isRealTime: false };
    case 'process':
      return { make: processWorld, isRealTime: true };
    case 'oci': {
      const { image } = options.runtime ?? {};
      const archive = image === undefined ? undefined : resolve(options.cwd, image);
      return { make: await ociWorlds(archive), isRealTime: true };
    }
    case 'kubernetes':
      return { make: kubernetesWorld, isRealTime: true };
    case 'cri':
      return { make: criWorlds({ ...criDefaults, ...options.runtime }), isRealTime: true };
    default:
      return { make: await moduleWorlds(name, options), isRealTime: options.realTime };
  }
}

async function moduleWorlds(name: string, options: ConformanceWorlds): Promise<MakeWorld> {
  const make = await providerFactory(name, options);
  return async () => {
    const { dir: dataDir, remove } = await lawFolder();
    const clock = options.realTime ? systemClock : new FakeClock(systemClock.now());
    const open = async (): Promise<ProviderWorld['provider']> =>
      make({ clock, logger, random, nodeName: 'node', dataDir });
    return { provider: await open(), clock, close: remove };
  };
}
