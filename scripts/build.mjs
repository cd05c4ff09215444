// Builds dist in two steps. The library: with tsc alone, one output file per source file. The command: its modules bundled into
// dist/program, because
// resolving and linking hundreds of modules took most of its start.
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

// undici's pool loads its HTTP/2 client and with it Node.js' own: 3 MiB for a protocol that is off by default. Its parser comes in four
// builds of which one
// is used: V8 would hold 240 KB of text for the others.
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

// With tracing, gRPC credentials are passed to the exporter, which loads its own copy from outside the bundle.
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
  // a worker thread is a separate program in the same directory
  input: [`${root}dist/cli/main.js`, `${root}dist/config/decode-thread.js`],
  platform: 'node',
  // large, and loaded only where they are needed
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
  // the format whose compiled code can be cached including all functions that have run (src/cli/process/bundled-program.ts)
  format: 'cjs',
  dynamicImportInCjs: false,
  strict: true,
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name]-[hash].cjs',
  comments: { legal: true, annotation: false, jsdoc: false },
});
await bundle.close();

// V8 holds the source of loaded code; one character beyond Latin-1 in a file doubles its size
const unit = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
for (const { type, fileName, code } of output)
  if (type === 'chunk') writeFileSync(`${root}dist/program/${fileName}`, code.replace(/[^\0-\x7f]/g, unit));

// the bundle contains third-party code, so it includes the licences
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
