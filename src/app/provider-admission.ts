import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock as clock } from '../base/clock.ts';
import { silentLogger as logger } from '../base/logger.ts';
import { systemRandom as random } from '../base/random.ts';
import type { Pod } from '../kube/types.ts';
import type { ProviderPowers } from '../provider/powers.ts';
import { type ModuleLoading, providerFactory } from './provider-module.ts';

/** The verdicts of a provider: its reasons against pods, and what it does not honor of the pods that it admits. */
export interface ProviderVerdicts {
  readonly refusals: (pod: Pod, others: readonly Pod[]) => readonly string[];
  readonly warnings: (pod: Pod, others: readonly Pod[]) => readonly string[];
}

/**
 * Returns a provider's reasons against pods without running any, for `podtender validate`.
 *
 * @throws {AgentError} `invalid_argument` for an unknown provider
 */
export async function providerVerdicts(name: string, loading: ModuleLoading): Promise<ProviderVerdicts> {
  const admit = await admission(name, loading);
  return {
    refusals: (pod, others) => {
      const verdict = admit?.(pod, others);
      return verdict?.admit === false
        ? [`provider ${name}: ${[verdict.reason, verdict.message].filter(Boolean).join(': ')}`]
        : [];
    },
    warnings: (pod, others) => {
      const verdict = admit?.(pod, others);
      return verdict?.admit === true
        ? (verdict.warnings ?? []).map((text) => `provider ${name}: ${text}`)
        : [];
    },
  };
}

async function admission(name: string, loading: ModuleLoading): Promise<ProviderPowers['admit']> {
  switch (name) {
    case 'process': {
      const { ProcessRuntime, processPowers } = await import('../providers/process/index.ts');
      // never opened: nothing is created in its directory
      const settings = { dataDir: '/nonexistent', hostIp: '127.0.0.1' };
      return processPowers(new ProcessRuntime({ settings, clock, random, logger })).admit;
    }
    case 'oci': {
      const { admitOciPod, delegatedHere, detectIsolation } = await import('../providers/oci/index.ts');
      const uid = process.getuid?.() ?? 0;
      const dir = join(tmpdir(), 'podtender-probe');
      const isolation = await detectIsolation({ kind: 'auto', dir, uid, shell: '/bin/sh' });
      const { controllers } = delegatedHere();
      return (pod, others) => admitOciPod(pod, others, { isolation, controllers, hasTerminals: true });
    }
    case 'memory':
    case 'cri':
      return undefined; // admits every valid pod
    case 'eci': {
      const { admitEciPod } = await import('../providers/eci/admission.ts');
      return admitEciPod;
    }
    default: {
      const make = await providerFactory(name, loading);
      const provider = await make({ clock, random, logger, nodeName: 'node' });
      return provider.admit?.bind(provider);
    }
  }
}
