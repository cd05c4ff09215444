import type { Script } from 'node:vm';

// This file is loaded by itself, before the bundle. An import of these would make Node load all that lies behind their exports.
const { hash } = process.getBuiltinModule('node:crypto');
const { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { createRequire } = process.getBuiltinModule('node:module');
const path = process.getBuiltinModule('node:path');
const { cachedDataVersionTag } = process.getBuiltinModule('node:v8');
const vm = process.getBuiltinModule('node:vm');

/** The compiled code of a program, kept for its next start. */
export interface KeptCode {
  /** Holds a folder for each version of Node.js and its flags. */
  readonly folder: string;
  /**
   * Writes down what V8 has compiled by now, of the files that had none kept, or one of before `staleBefore` (ms since 1970).
   * What cannot be written is not: it costs the next start some time, no more.
   */
  keep(staleBefore: number): void;
}

/** A program that is loaded. */
export interface BundledProgram {
  /** What its main file exports. */
  readonly exports: unknown;
  readonly code: KeptCode | undefined;
}

/** A file of the bundle that runs, and where its code is kept. */
interface Chunk {
  readonly script: Script;
  readonly kept: string;
  /** Whether what was kept was taken by V8. */
  fresh: boolean;
}

/** What CommonJS makes of a file's text. */
type ModuleBody = (
  ...given: [
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
 * Loads the bundle that `npm run build` makes, as Node would load CommonJS modules, but with the code of all functions that the last start
 * used. Node's own cache is written as a module is read, before any function ran, so it holds none of these: compiling them was
 * a fifth of the time until the lease was renewed.
 *
 * @param main the main file; what it asks for by `./` lies beside it
 * @param folder where compiled code is kept, a folder of this user's own: who can write to it can have the program run what he likes.
 *   `undefined` keeps none.
 */
export function loadProgram(main: string, folder: string | undefined): BundledProgram {
  const outer = createRequire(main);
  const home = path.dirname(main);
  const chunks: Chunk[] = [];
  const modules = new Map<string, { exports: unknown }>();
  // V8's tag tells versions, flags and kinds of processors apart, all of which its code depends on
  const version = folder && path.join(folder, `${process.version}-${cachedDataVersionTag().toString(16)}`);

  const load = (file: string): unknown => {
    const loaded = modules.get(file);
    if (loaded) return loaded.exports;
    const module = { exports: {} as unknown };
    modules.set(file, module);
    const text = readFileSync(file);
    const kept = version && path.join(version, digest(text).toString('hex'));
    const cachedData = kept === undefined ? undefined : keptCode(kept);
    // the build has left no character in it that is not ASCII
    const script = new vm.Script(Buffer.concat([prefix, text, suffix]).toString('latin1'), {
      filename: file,
      columnOffset: -prefix.length,
      ...(cachedData && { cachedData }),
    });
    const fresh = cachedData !== undefined && script.cachedDataRejected !== true;
    if (kept !== undefined) chunks.push({ script, kept, fresh });
    (script.runInThisContext() as ModuleBody)(module.exports, need, module, file, home);
    // exports are getters, for while a file is read they may not be there yet; by now they are, and values are read faster
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

/** What is kept in a file: its digest before it, for V8 believes what it is given. */
function keptCode(file: string): Buffer | undefined {
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
      if (chunk.fresh && statSync(chunk.kept).mtimeMs >= staleBefore) continue;
      const code = chunk.script.createCachedData();
      // another start may read it now
      const half = `${chunk.kept}${process.pid.toString(16)}`;
      writeFileSync(half, Buffer.concat([digest(code), code]), { mode: 0o600 });
      renameSync(half, chunk.kept);
      chunk.fresh = true;
    }
  } catch {
    // see KeptCode.keep
  }
}
