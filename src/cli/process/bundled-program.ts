import type { Script } from 'node:vm';

// This file is loaded on its own, before the bundle. Importing these would make Node load everything behind their exports.
const { hash } = process.getBuiltinModule('node:crypto');
const { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { createRequire } = process.getBuiltinModule('node:module');
const path = process.getBuiltinModule('node:path');
const { cachedDataVersionTag } = process.getBuiltinModule('node:v8');
const vm = process.getBuiltinModule('node:vm');

/** The compiled code of a program, cached for its next start. */
export interface CodeCache {
  /** Has a directory for each version of Node.js and its flags. */
  readonly folder: string;
  /**
   * Writes the code that V8 has compiled so far, of the files without cached code or with code from before `staleBefore` (ms since the
   * epoch). Errors are ignored: they only make the next start slower.
   */
  keep(staleBefore: number): void;
}

/** A loaded program. */
export interface BundledProgram {
  /** The exports of its main file. */
  readonly exports: unknown;
  readonly code: CodeCache | undefined;
}

/** A file of the running bundle, and the path of its cached code. */
interface Chunk {
  readonly script: Script;
  readonly cacheFile: string;
  /** Whether V8 accepted the cached code. */
  fresh: boolean;
}

/** The function that CommonJS makes of a file's text. */
type ModuleBody = (
  ...parameters: [
    exports: unknown,
    require: (id: string) => unknown,
    module: { exports: unknown },
    file: string,
    folder: string,
  ]
) => void;

const digestBytes = 32;
const prefix = Buffer.from('(function (exports, require, module, __filename, __dirname) {');
const suffix = Buffer.from('\n})');

/**
 * Loads the bundle of `npm run build` as Node would load CommonJS modules, but with the compiled code of all functions that the last
 * start used. Node's own cache is written when a module is loaded, before any function has run, so it has none of these: compiling them
 * took a fifth of the time until the lease was renewed.
 *
 * @param main the main file; what it requires by `./` lies beside it
 * @param folder directory of cached code, which only this user may write: whoever can write it can make the program run any code.
 * `undefined` caches none.
 */
export function loadProgram(main: string, folder: string | undefined): BundledProgram {
  const outer = createRequire(main);
  const home = path.dirname(main);
  const chunks: Chunk[] = [];
  const modules = new Map<string, { exports: unknown }>();
  // V8's tag differs between versions, flags and processor types, all of which compiled code depends on.
  const version = folder && path.join(folder, `${process.version}-${cachedDataVersionTag().toString(16)}`);

  const load = (file: string): unknown => {
    const loaded = modules.get(file);
    if (loaded) return loaded.exports;
    const module = { exports: {} as unknown };
    modules.set(file, module);
    const text = readFileSync(file);
    const cacheFile = version && path.join(version, digest(text).toString('hex'));
    const cachedData = cacheFile === undefined ? undefined : cachedCode(cacheFile);
    // The build leaves only ASCII characters.
    const script = new vm.Script(Buffer.concat([prefix, text, suffix]).toString('latin1'), {
      filename: file,
      columnOffset: -prefix.length,
      ...(cachedData && { cachedData }),
    });
    const fresh = cachedData !== undefined && script.cachedDataRejected !== true;
    if (cacheFile !== undefined) chunks.push({ script, cacheFile, fresh });
    (script.runInThisContext() as ModuleBody)(module.exports, need, module, file, home);
    // Exports are getters, because while a file is loaded they may not exist yet; now they do, and values are faster to read.
    module.exports = { ...(module.exports as object) };
    return module.exports;
  };
  const need = (id: string): unknown =>
    id.startsWith('./') ? load(path.join(home, id)) : (process.getBuiltinModule(id) ?? outer(id));

  return {
    exports: load(main),
    code:
      folder && version
        ? {
            folder,
            keep: (staleBefore) => {
              keep(chunks, version, staleBefore);
            },
          }
        : undefined,
  };
}

const digest = (data: Buffer): Buffer => hash('sha256', data, 'buffer');

/** Returns the code in a file, which starts with its digest: V8 does not verify cached code. */
function cachedCode(file: string): Buffer | undefined {
  try {
    const data = readFileSync(file);
    const code = data.subarray(digestBytes);
    return digest(code).equals(data.subarray(0, digestBytes)) ? code : undefined;
  } catch {
    return undefined;
  }
}

function keep(chunks: readonly Chunk[], version: string, staleBefore: number): void {
  try {
    mkdirSync(version, { recursive: true, mode: 0o700 });
    for (const chunk of chunks) {
      if (chunk.fresh && statSync(chunk.cacheFile).mtimeMs >= staleBefore) continue;
      const code = chunk.script.createCachedData();
      // Another start may be reading it.
      const half = `${chunk.cacheFile}${process.pid.toString(16)}`;
      writeFileSync(half, Buffer.concat([digest(code), code]), { mode: 0o600 });
      renameSync(half, chunk.cacheFile);
      chunk.fresh = true;
    }
  } catch {
    // see CodeCache.keep
  }
}
