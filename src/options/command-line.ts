import { ownMember, setOwn } from '../base/own.ts';
import { AgentError } from '../base/errors.ts';
import { flagNamed, type FlagValue } from './flags.ts';

/** The command line besides the command's own flags. */
export interface Rest {
  /** Kubelet flags by name, as written; a repeated flag adds to a list. */
  readonly flags: Readonly<Record<string, FlagValue>>;
  /** Arguments that are not flags or their values. */
  readonly operands: readonly string[];
}

/**
 * Parses kubelet flags: `--name=value`, `--name value`, and `--name` alone for a boolean. Unknown flags are reported later, all at once.
 */
export function readRest(words: readonly string[]): Rest {
  const flags: Record<string, FlagValue> = {};
  const operands: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const [, name, , inline] = /^--?([A-Za-z][\w-]*)(=([\s\S]*))?$/.exec(word) ?? [];
    if (name === undefined) operands.push(word);
    else {
      const next = inline === undefined ? valueAfter(name, words[at + 1]) : undefined;
      if (next !== undefined) at += 1;
      add(flags, name, next ?? inline ?? true);
    }
  }
  return { flags, operands };
}

/** Returns the argument after a flag if it is the flag's value. */
function valueAfter(name: string, word: string | undefined): string | undefined {
  return word === undefined || word.startsWith('--') || isSwitch(name) ? undefined : word;
}

function add(flags: Record<string, FlagValue>, name: string, value: FlagValue): void {
  setOwn(
    flags,
    name,
    Object.hasOwn(flags, name) ? [...listOf(ownMember(flags, name)), String(value)] : value,
  );
}

/**
 * Parses the kubelet flags of a command without operands.
 *
 * @throws {AgentError} `invalid_argument` for an argument that is not a flag
 */
export function readFlagsOnly(words: readonly string[]): Rest['flags'] {
  const { flags, operands } = readRest(words);
  const [first] = operands;
  if (first !== undefined) throw new AgentError('invalid_argument', `unexpected argument "${first}"`);
  return flags;
}

function isSwitch(name: string): boolean {
  return flagNamed(name)?.field.type === 'bool';
}

function listOf(value: FlagValue | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'object' ? value : [String(value)];
}
