import { readFileSync } from 'node:fs';
import { AgentError, messageOf } from '../base/errors.ts';
import { yamlText } from '../go/yaml/reader.ts';
import { decodeKubeletConfiguration, type DecodedConfiguration } from '../options/decode.ts';
import { idleSettings } from '../options/kubelet/without-effect.ts';
import { formatFault, OptionsError, type OptionFault } from '../options/options-error.ts';
import { validateKubeletConfiguration } from '../options/kubelet/validate.ts';
import { formatProblem, validateManifests } from '../kube/validation/validate-files.ts';
import { exitCodes } from './exit-codes.ts';

/** What is wrong with one file's settings: `faults` make them unusable, `warnings` do not. */
export interface Verdict {
  readonly faults: readonly OptionFault[];
  readonly warnings: readonly OptionFault[];
}

/** Checks a KubeletConfiguration: structure first, and where that is sound every rule of meaning. */
export function judge(text: string): Verdict {
  try {
    const decoded = decodeKubeletConfiguration(text);
    return {
      faults: placed(decoded, validateKubeletConfiguration(decoded.config)),
      warnings: [...decoded.warnings, ...placed(decoded, idleSettings(decoded.config))],
    };
  } catch (reason) {
    if (reason instanceof OptionsError) return { faults: reason.faults, warnings: [] };
    throw reason;
  }
}

/**
 * Checks files and says all that is wrong, a line each: manifests of pods (`file:line:column: message`) or a KubeletConfiguration.
 *
 * @returns 0 when all can be used, else 2
 * @throws {AgentError} `invalid_argument` a file cannot be read
 */
export function validateFiles(files: readonly string[], say: (line: string) => unknown): number {
  let usable = true;
  for (const file of files) {
    const text = readConfiguration(file);
    const name = file === '-' ? 'standard input' : file;
    const manifests = validateManifests([{ name, text }]);
    if (manifests.pods > 0) {
      const problems = [...manifests.problems, ...manifests.others];
      for (const problem of problems) say(formatProblem(problem));
      if (problems.length === 0) say(`${name}: can be used`);
      usable &&= problems.length === 0;
      continue;
    }
    const { faults, warnings } = judge(text);
    for (const fault of faults) say(`${name}: ${formatFault(fault)}`);
    for (const warning of warnings) say(`${name}: warning: ${formatFault(warning)}`);
    if (faults.length === 0) say(`${name}: can be used`);
    usable &&= faults.length === 0;
  }
  return usable ? exitCodes.ok : exitCodes.invalid;
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
