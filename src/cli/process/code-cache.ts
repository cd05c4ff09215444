import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import type { CodeCache } from './bundled-program.ts';

/** By then the first pods have been handled, so the code that they need is compiled. */
const afterMs = 10_000;
const dayMs = 24 * 3600 * 1000;
/** Older code belongs to another version, or is created again at the next start. */
const retentionMs = 60 * dayMs;

/**
 * Schedules writing the compiled code of this process for the next start: the bundle's, and by Node what is outside of it. Node itself
 * writes it only at a normal exit, but an agent that is killed is the one whose next start matters. Node also does not remove the code of
 * former versions, some megabytes each.
 */
export function keepCompiledCode(code: CodeCache | undefined): void {
  systemClock.timer(afterMs, () => {
    flushCompileCache();
    if (!code) return;
    // a start without pods has not compiled what they need; an earlier start may have
    code.keep(systemClock.now() - dayMs);
    dropOldCode(code.folder, systemClock.now() - retentionMs).catch(() => undefined); // only disk space is lost
  });
}

/**
 * Removes compiled code last written before `before` (ms since the epoch), and directories that become empty. Nothing else is touched.
 *
 * @param folder has a directory for each version of Node and its flags, as `v24.21.0-x64-1c717fce-0`
 */
export async function dropOldCode(folder: string, before: number): Promise<void> {
  for (const version of await readdir(folder)) {
    if (!/^v\d+\.\d+\.\d+-/.test(version)) continue;
    const own = join(folder, version);
    for (const name of await readdir(own)) {
      const file = join(own, name);
      if (/^[0-9a-f]+$/.test(name) && (await stat(file)).mtimeMs < before) await rm(file, { force: true });
    }
    await rmdir(own).catch(() => undefined); // not empty
  }
}
