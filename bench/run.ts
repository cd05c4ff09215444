/** Runs one bench by name, or all of them one after the other: `npm run bench -- [NAME [ARGUMENTS]]`. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const suffix = '.bench.ts';
const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(suffix))
  .map((file) => file.slice(0, -suffix.length));
const [name, ...rest] = process.argv.slice(2);
if (name !== undefined && !names.includes(name)) {
  process.stderr.write(`there is no bench "${name}"; there are: ${names.join(', ')}\n`);
  process.exit(2);
}
for (const each of name === undefined ? names : [name]) {
  process.stdout.write(`\n# ${each}\n`);
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${each}${suffix}`), ...rest], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
