import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';
import { yamlText } from '../go/yaml/reader.ts';
import { type DecodedConfiguration, decodeSoundSettings } from '../options/decode.ts';
import { idleSettings } from '../options/kubelet/without-effect.ts';
import { formatFault, OptionsError, type OptionFault } from '../options/options-error.ts';
import { validateKubeletConfiguration } from '../options/kubelet/validate.ts';
import {
  formatProblem,
  type ManifestCheckOptions,
  validateManifests,
} from '../kube/validation/validate-files.ts';
import { exitCodes } from './exit-codes.ts';

/** Faults of one file's settings: `faults` make them unusable, `warnings` do not. */
export interface Verdict {
  readonly faults: readonly OptionFault[];
  readonly warnings: readonly OptionFault[];
}

/** Validates a KubeletConfiguration: its structure, and every rule for the structurally valid settings. */
export function judge(text: string): Verdict {
  try {
    const decoded = decodeSoundSettings(text);
    return {
      faults: [...decoded.faults, ...placed(decoded, validateKubeletConfiguration(decoded.config))],
      warnings: [...decoded.warnings, ...placed(decoded, idleSettings(decoded.config))],
    };
  } catch (reason) {
    if (reason instanceof OptionsError) return { faults: reason.faults, warnings: [] };
    throw reason;
  }
}

/**
 * Validates files and prints every fault on a line: pod manifests (`file:line:column: message`) or a KubeletConfiguration. In a
 * directory, validates all files that the kubelet would read.
 *
 * @param verdicts a provider's reasons against a valid pod, and what it does not honor of one that it admits
 * @returns 0 when all are valid, else 2
 * @throws {AgentError} `invalid_argument` when a file cannot be read
 */
export function validateFiles(
  files: readonly string[],
  say: (line: string) => unknown,
  verdicts: Pick<ManifestCheckOptions, 'refusals' | 'warnings'> = {},
): number {
  const sound = files.flatMap(filesOf).map((file) => validateFile(file, say, verdicts));
  return sound.every(Boolean) ? exitCodes.ok : exitCodes.invalid;
}

/** @returns whether it is valid */
function validateFile(file: string, say: (line: string) => unknown, options: ManifestCheckOptions): boolean {
  const text = readConfiguration(file);
  const name = file === '-' ? 'standard input' : file;
  const manifests = validateManifests([{ name, text }], options);
  const isConfiguration = manifests.others.some(({ kind }) => kind === 'KubeletConfiguration');
  const { faults, warnings } = isConfiguration ? judge(text) : { faults: [], warnings: [] };
  const lines = isConfiguration
    ? faults.map((fault) => `${name}: ${formatFault(fault)}`)
    : [...manifests.problems, ...manifests.others].map(formatProblem);
  for (const line of lines) say(line);
  for (const warning of warnings) say(`${name}: warning: ${formatFault(warning)}`);
  for (const { message, ...place } of manifests.warnings ?? [])
    say(formatProblem({ ...place, message: `warning: ${message}` }));
  if (lines.length === 0) say(`${name}: can be used`);
  return lines.length === 0;
}

/**
 * Returns the files of a directory, except those whose names start with a dot; any other path is returned itself. @throws {AgentError}
 * when it is empty
 */
function filesOf(path: string): readonly string[] {
  if (path === '-' || !statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const files = readdirSync(path)
    .filter((name) => !name.startsWith('.'))
    .sort()
    .map((name) => join(path, name))
    .filter((file) => !statSync(file, { throwIfNoEntry: false })?.isDirectory());
  if (files.length === 0) throw new AgentError('invalid_argument', `${path} holds no files`);
  return files;
}

/**
 * Returns the text of a file, or of standard input for `-`.
 *
 * @throws {AgentError} `invalid_argument`, with the reason
 */
export function readConfiguration(file: string): string {
  try {
    return yamlText(readFileSync(file === '-' ? 0 : file));
  } catch (cause) {
    throw new AgentError('invalid_argument', `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** Adds the position of the setting to faults, if it is in the file. */
function placed(decoded: DecodedConfiguration, faults: readonly OptionFault[]): readonly OptionFault[] {
  return faults.map((fault) => ({ ...decoded.locate(fault.path.split('.')), ...fault }));
}
