import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import type { KeptCode } from './bundled-program.ts';

/** By then the first pods have been looked after, so that what they need is compiled. */
const afterMs = 10_000;
const dayMs = 24 * 3600 * 1000;
/** What was written longer ago is of another version, or is made again with the next start. */
const keptMs = 60 * dayMs;

/**
 * Has the code that this process has compiled written down, for the next start: the bundle's, and by Node what lies outside of it. By itself
 * Node does so when a process ends in order, and an agent that is killed is the one whose next start is waited for. Nor does it remove
 * what former versions wrote, some megabytes each.
 */
export function keepCompiledCode(code: KeptCode | undefined): void {
  systemClock.timer(afterMs, () => {
    flushCompileCache();
    if (!code) return;
    // a start that had no pods has not compiled what they need: another one may have had some
    code.keep(systemClock.now() - dayMs);
    dropOldCode(code.folder, systemClock.now() - keptMs).catch(() => undefined); // it costs room, no more
  });
}

/**
 * Removes compiled code that was last written before `before` (ms since 1970), and the folders that are empty then. Nothing else is touched.
 *
 * @param folder holds a folder for each version of Node and its flags, as `v24.21.0-x64-1c717fce-0`
 */
export async function dropOldCode(folder: string, before: number): Promise<void> {
  for (const version of await readdir(folder)) {
    if (!/^v\d+\.\d+\.\d+-/.test(version)) continue;
    const own = join(folder, version);
    for (const name of await readdir(own)) {
      const file = join(own, name);
      if (/^[0-9a-f]+$/.test(name) && (await stat(file)).mtimeMs < before) await rm(file, { force: true });
    }
    await rmdir(own).catch(() => undefined); // there is something left
  }
}
