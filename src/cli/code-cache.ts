import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { flushCompileCache, getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import { systemClock } from '../base/clock.ts';

/** By then the first pods have been looked after, so that what they need is compiled. */
const afterMs = 10_000;
/** What was written longer ago is of another version, or is made again with the next start. */
const keptMs = 60 * 24 * 3600 * 1000;

/**
 * Has Node write down the code that this process has compiled, for the next start. By itself it does so when a process ends in order,
 * and an agent that is killed is the one whose next start is waited for. Nor does Node remove what former versions wrote, two megabytes each.
 */
export function keepCompiledCode(): void {
  systemClock.timer(afterMs, () => {
    flushCompileCache();
    const folder = dirname(getCompileCacheDir() ?? '');
    // with NODE_COMPILE_CACHE the folder is the user's, and other programs' code is in it
    if (!folder.endsWith(join('podtender', 'code'))) return;
    dropOldCode(folder, systemClock.now() - keptMs).catch(() => undefined); // it costs room, no more
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
