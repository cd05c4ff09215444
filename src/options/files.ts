import { ownMember, setOwn } from '../base/own.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { yamlText } from '../go/yaml/reader.ts';
import { type DecodedConfiguration, readSettings, type Settings } from './decode.ts';
import { type OptionFault, OptionsError } from './options-error.ts';

/** Access to files of settings. */
export interface SettingFiles {
  readonly readText?: (path: string) => string;
  /** Lists the paths of all files in a directory and below, in any order. */
  readonly listFiles?: (folder: string) => readonly string[];
}

/** The settings of one file. */
export interface ReadFile extends Omit<DecodedConfiguration, 'config'> {
  readonly path: string;
}

/**
 * Reads a KubeletConfiguration file and its drop-ins: the `*.conf` files of a directory, in the order of their names. Follows kubelet
 * `mergeKubeletConfigurations`.
 */
export function readFiles(
  file: string | undefined,
  dropIns: string | undefined,
  { readText = readFileText, listFiles = filesBelow }: SettingFiles,
  faults: OptionFault[],
): readonly ReadFile[] {
  const more = dropIns === undefined || dropIns === '' ? [] : dropInPaths(dropIns, listFiles, faults);
  const paths = [...(file === undefined ? [] : [file]), ...more];
  return paths.flatMap((path) => readOne(path, readText, faults) ?? []);
}

const readFileText = (path: string): string => yamlText(readFileSync(path));

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));

function dropInPaths(
  folder: string,
  listFiles: NonNullable<SettingFiles['listFiles']>,
  faults: OptionFault[],
): readonly string[] {
  try {
    return listFiles(folder)
      .filter((path) => path.endsWith('.conf'))
      .toSorted(byFolder);
  } catch (reason) {
    faults.push({ path: '', from: folder, message: `the folder cannot be read: ${messageOf(reason)}` });
    return [];
  }
}

/** Compares paths by segments, so that a directory sorts among its siblings by its own name. */
function byFolder(a: string, b: string): number {
  const [ofA, ofB] = [a.split('/'), b.split('/')];
  const at = ofA.findIndex((part, index) => part !== ofB[index]);
  return (ofA[at] ?? '') < (ofB[at] ?? '') ? -1 : 1;
}

function readOne(
  path: string,
  readText: NonNullable<SettingFiles['readText']>,
  faults: OptionFault[],
): ReadFile | undefined {
  let text: string;
  try {
    text = readText(path);
  } catch (reason) {
    faults.push({ path: '', from: path, message: `the file cannot be read: ${messageOf(reason)}` });
    return undefined;
  }
  try {
    const read = readSettings(text);
    return { ...read, path, warnings: read.warnings.map((warning) => ({ from: path, ...warning })) };
  } catch (reason) {
    if (!(reason instanceof OptionsError)) throw reason;
    faults.push(...reason.faults.map((fault) => ({ from: path, ...fault })));
    return undefined;
  }
}

/** Merges mappings and replaces everything else (RFC 7386). */
export function mergedSettings(base: Settings, over: Settings): Settings {
  const out: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const before = ownMember(out, name);
    setOwn(out, name, isMapping(before) && isMapping(value) ? mergedSettings(before, value) : value);
  }
  return out;
}

const isMapping = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
