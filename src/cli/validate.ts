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

/** What is wrong with one file's settings: `faults` make them unusable, `warnings` do not. */
export interface Verdict {
  readonly faults: readonly OptionFault[];
  readonly warnings: readonly OptionFault[];
}

/** Checks a KubeletConfiguration: its structure, and every rule of meaning for the settings that are sound. */
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
 * Checks files and says all that is wrong, a line each: manifests of pods (`file:line:column: message`) or a KubeletConfiguration. Of a
 * directory all files are checked that the kubelet would read.
 *
 * @param refusals what a provider has against a valid pod
 * @returns 0 when all can be used, else 2
 * @throws {AgentError} `invalid_argument` a file cannot be read
 */
export function validateFiles(
  files: readonly string[],
  say: (line: string) => unknown,
  refusals?: ManifestCheckOptions['refusals'],
): number {
  const options = refusals ? { refusals } : {};
  const verdicts = files.flatMap(filesOf).map((file) => validateFile(file, say, options));
  return verdicts.every(Boolean) ? exitCodes.ok : exitCodes.invalid;
}

/** @returns whether it can be used */
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
  if (lines.length === 0) say(`${name}: can be used`);
  return lines.length === 0;
}

/** The files of a directory, but those whose names begin with a dot; any other path is itself. @throws {AgentError} it is empty */
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
 * The text of a file, or of standard input for `-`.
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

/** Faults of meaning say where their setting stands, when the file holds it. */
function placed(decoded: DecodedConfiguration, faults: readonly OptionFault[]): readonly OptionFault[] {
  return faults.map((fault) => ({ ...decoded.locate(fault.path.split('.')), ...fault }));
}
