import { ownMember } from '../../../base/own.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';

const head = 'pod-security.kubernetes.io/';
const levels = ['privileged', 'baseline', 'restricted'] as const;

/** A Pod Security level; later ones are stricter. */
export type Level = (typeof levels)[number];

/** A level as of a minor version of Kubernetes; `Infinity`: the latest. */
export interface LevelVersion {
  readonly level: Level;
  readonly minor: number;
}

/** What a namespace enforces, records and warns of. */
export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

/** Returns `level:version`. */
export const textOfLevel = ({ level, minor }: LevelVersion): string =>
  `${level}:${minor === Infinity ? 'latest' : `v1.${minor}`}`;

/** Compares the strictness of two levels: positive when the first is stricter. */
export const compareLevels = (a: Level, b: Level): number => levels.indexOf(a) - levels.indexOf(b);

const isLevel = (text: string): text is Level => (levels as readonly string[]).includes(text);

/** Returns the policy of a namespace's labels, and what is wrong with them. Wrong values enforce the strictest policy. */
export function policyOf(labels: JsonObject): {
  readonly policy: Policy;
  readonly faults: readonly FieldFault[];
} {
  const faults: FieldFault[] = [];
  const wrong = (label: string, value: string, why: string): void => {
    faults.push(fault.invalid(`metadata.labels[${head}${label}]`, value, why));
  };
  const labelOf = (label: string): string | undefined =>
    ownMember(labels as Readonly<Record<string, string>>, `${head}${label}`);
  const read = (mode: string, otherwise: Level): LevelVersion & { readonly isSet: boolean } => {
    const level = labelOf(mode);
    const isFit = level !== undefined && isLevel(level);
    if (level !== undefined && !isFit) wrong(mode, level, `must be one of ${levels.join(', ')}`);
    const version = labelOf(`${mode}-version`);
    const minor = version === undefined ? Infinity : minorOf(version);
    if (version !== undefined && minor === undefined)
      wrong(`${mode}-version`, version, 'must be "latest" or "v1.x"');
    const unfit = level === undefined ? 'privileged' : otherwise;
    return { level: isFit ? level : unfit, minor: minor ?? Infinity, isSet: isFit };
  };
  const enforce = read('enforce', 'restricted');
  const audit = read('audit', 'privileged');
  const warn = read('warn', 'privileged');
  const follows =
    labelOf('warn') === undefined && enforce.isSet && compareLevels(enforce.level, warn.level) > 0;
  const plain = ({ level, minor }: LevelVersion): LevelVersion => ({ level, minor });
  return {
    policy: {
      enforce: plain(enforce),
      audit: plain(audit),
      warn: follows
        ? { level: enforce.level, minor: labelOf('warn-version') === undefined ? enforce.minor : warn.minor }
        : plain(warn),
    },
    faults,
  };
}

function minorOf(version: string): number | undefined {
  if (version === 'latest') return Infinity;
  const found = /^v1\.(0|[1-9][0-9]*)$/.exec(version)?.[1];
  return found === undefined ? undefined : Number(found);
}
