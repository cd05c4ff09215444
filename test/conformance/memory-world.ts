import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../src/base/fake-clock.ts';
import type { ProviderWorld } from '../../src/conformance/index.ts';
import type { PodProvider } from '../../src/provider/index.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';

/** A memory provider on a fake clock that outlives its restarts. @param change what is broken about it */
export function memoryWorld(
  change: (provider: MemoryProvider, life: number) => PodProvider = (provider) => provider,
): ProviderWorld {
  const clock = new FakeClock(Date.parse('2026-03-04T05:06:07Z'));
  const dir = mkdtempSync(join(tmpdir(), 'podtender-conformance-'));
  const open = (): MemoryProvider => new MemoryProvider({ clock, journal: join(dir, 'pods.jsonl') });
  let memory = open();
  let life = 0;
  return {
    provider: change(memory, life),
    clock,
    failNext: (call, reason) => {
      memory.failNext(call, reason);
    },
    hangNext: (call) => {
      memory.hangNext(call);
    },
    restart: async () => {
      await clock.advance(1000);
      memory = open();
      return change(memory, ++life);
    },
    close: () => {
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
