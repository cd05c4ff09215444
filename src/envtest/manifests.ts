import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { AgentError, messageOf } from '../base/errors.ts';

/** An object as a manifest states it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string; readonly [key: string]: unknown };
  readonly [key: string]: unknown;
}

/** An object, and where it was read. */
export interface ReadManifest {
  readonly object: Manifest;
  /** File and number of the document, or the place in the options. */
  readonly from: string;
}

const extensions: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json']);

/**
 * Reads objects from files (YAML with several documents, or JSON), from the files of folders (not of folders within), and as they are.
 *
 * @param option the option's name, for errors
 * @throws {AgentError} `invalid_argument` naming a path that does not exist, or a document that cannot be parsed
 */
export async function readManifests(
  sources: readonly (string | object)[],
  option: string,
): Promise<readonly ReadManifest[]> {
  const read: ReadManifest[] = [];
  for (const [at, source] of sources.entries())
    if (typeof source !== 'string') read.push(...objectsIn(source, `${option}[${at}]`));
    else for (const file of await filesAt(source, option)) read.push(...(await readObjects(file)));
  return read;
}

const invalid = (text: string, cause?: unknown): AgentError =>
  new AgentError('invalid_argument', text, { cause });

async function filesAt(path: string, option: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = await readdir(path);
    return names
      .filter((name) => extensions.has(extname(name)))
      .sort()
      .map((name) => join(path, name));
  } catch (reason) {
    throw invalid(`${option}: ${path}: ${messageOf(reason)}`, reason);
  }
}

async function readObjects(file: string): Promise<readonly ReadManifest[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (reason) {
    throw invalid(`${file}: ${messageOf(reason)}`, reason);
  }
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document, at) => {
    const [error] = document.errors;
    if (error) throw invalid(`${file}: ${error.message}`, error);
    return objectsIn(document.toJS() as unknown, `${file}, document ${at + 1}`);
  });
}

/** Returns the object, the items of a list, or nothing of an empty document. */
function objectsIn(value: unknown, from: string): readonly ReadManifest[] {
  if (value === null || value === undefined) return [];
  const object = value as Partial<Manifest> & { readonly items?: unknown };
  if (typeof value !== 'object' || typeof object.kind !== 'string' || typeof object.apiVersion !== 'string')
    throw invalid(`${from}: no Kubernetes object: apiVersion and kind are required`);
  if (object.kind.endsWith('List') && Array.isArray(object.items))
    return object.items.flatMap((item, at) => objectsIn(item, `${from}, item ${at + 1}`));
  return [{ object: { ...object, metadata: object.metadata ?? {} } as Manifest, from }];
}
