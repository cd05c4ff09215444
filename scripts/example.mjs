// Runs one of the programs in examples/: npm run example -- NAME. Through npm it runs on the repository's own Node.js.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../examples/', import.meta.url));
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length));
const [major, minor] = process.versions.node.split('.').map(Number);
const [name, ...args] = process.argv.slice(2);

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `The examples need Node.js 22.19 or newer; this is ${process.versions.node} (${process.execPath}).`,
  );
  console.error(
    'Run them as "npm run example -- NAME": npm takes the Node.js of the repository, once "npm ci" has run.',
  );
  process.exit(69);
}
if (!names.includes(name)) {
  console.error(`usage: npm run example -- NAME\n\nThere are: ${names.join(', ')}`);
  process.exit(name === undefined ? 0 : 64);
}
const { status } = spawnSync(process.execPath, [`${folder}${name}.ts`, ...args], { stdio: 'inherit' });
process.exit(status ?? 1);
