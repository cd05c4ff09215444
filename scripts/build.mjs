// Builds dist in two steps. The library: tsc alone, files map one to one. The command: what it loads, bundled into dist/program, since
// finding and linking hundreds of modules was most of its start.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.build.json`],
  { stdio: 'inherit', cwd: root },
);

// undici's pool loads its HTTP/2 client and with it Node.js' own: 3 MiB for a protocol that is off unless asked for. And its parser comes in
// four builds of which one is used: of the others V8 would keep 240 KB of text.
const early = "const connectH2 = require('./client-h2.js')";
const leanUndici = {
  name: 'lean-undici',
  transform(code, id) {
    if (!id.endsWith('/undici/lib/dispatcher/client.js')) return undefined;
    if (!code.includes(early))
      throw new Error(`${id} loads HTTP/2 in another way than scripts/build.mjs knows`);
    return code.replace(early, "const connectH2 = (...args) => require('./client-h2.js')(...args)");
  },
  resolveId(source, importer) {
    const spare = /^\.\.\/((?:milo\/|llhttp\/llhttp-wasm).*)$/.exec(source)?.[1];
    return spare && importer?.includes('/undici/')
      ? { id: `undici/lib/${spare}`, external: true }
      : undefined;
  },
};

// With tracing, credentials of gRPC are handed to the exporter, which has its own copy from outside of the bundle.
const ownGrpc = {
  name: 'own-grpc',
  resolveId(source, importer) {
    return source === '@grpc/grpc-js' && importer?.endsWith('/app/tracing.js')
      ? { id: source, external: true }
      : undefined;
  },
};

const bundle = await rolldown({
  plugins: [leanUndici, ownGrpc],
  // a thread is a program of its own, found beside the one that starts it
  input: [`${root}dist/cli/main.js`, `${root}dist/config/decode-thread.js`],
  platform: 'node',
  // loaded only where they are needed, and large
  external: [
    /^@kubernetes\/client-node/,
    /^@grpc\/proto-loader/,
    /^@opentelemetry\//,
    /^@lydell\//,
    /^@alicloud\//,
  ],
});
const { output } = await bundle.write({
  dir: `${root}dist/program`,
  // the form in which code can be kept compiled with all that has run (src/cli/process/bundled-program.ts)
  format: 'cjs',
  dynamicImportInCjs: false,
  strict: true,
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name]-[hash].cjs',
  comments: { legal: true, annotation: false, jsdoc: false },
});
await bundle.close();

// V8 keeps the source of what runs; one character beyond Latin-1 in a file doubles what that takes
const unit = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
for (const { type, fileName, code } of output)
  if (type === 'chunk') writeFileSync(`${root}dist/program/${fileName}`, code.replace(/[^\0-\x7f]/g, unit));

// the bundle has other people's code in it: their licences go along
const homes = new Set(
  output
    .flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
    .map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? ''),
);
homes.delete('');
const licences = [...homes].sort().map((home) => {
  const { name, version, license } = JSON.parse(readFileSync(`${home}/package.json`, 'utf8'));
  const file = readdirSync(home).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version}, ${license}\n\n${file === undefined ? '' : readFileSync(`${home}/${file}`, 'utf8').trim()}\n`;
});
writeFileSync(`${root}dist/program/LICENSES.txt`, licences.join(`\n${'-'.repeat(80)}\n`));
