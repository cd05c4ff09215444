import { ownMember } from '../../base/own.ts';
import { durationMs } from '../../kube/duration.ts';
import { agentFields, type AgentField, type AgentSettings, type LogLevel } from './fields.ts';
import type { FlagTarget } from '../flags.ts';
import type { OptionSources, Origin } from '../origin.ts';
import type { OptionFault } from '../options-error.ts';

/** A parsed flag. */
export interface FlagSetting {
  readonly target: FlagTarget;
  readonly value: unknown;
}

/** Maximum length of a Node name. */
const mostNameLetters = 253;
const nodeNameForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/**
 * Reads the agent's own settings from flags and the environment. Adds the settings that the environment sets to `origins`, which already
 * has the flags.
 */
export function readAgent(
  settings: readonly FlagSetting[],
  { env = {}, hostname = 'localhost', configFile }: OptionSources,
  origins: Map<string, Origin>,
): { readonly options: AgentSettings; readonly faults: readonly OptionFault[] } {
  const values = new Map<string, unknown>();
  for (const [name, field] of Object.entries<AgentField>(agentFields)) {
    const value = valueOf(name, field, { settings, env, origins });
    if (value !== undefined) values.set(name, value);
  }
  follow(values, origins);
  if (configFile !== undefined) values.set('config', configFile);
  const nodeName = textOf(values.get('hostnameOverride') ?? hostname)
    .trim()
    .toLowerCase();
  values.set('nodeName', nodeName);
  return {
    options: Object.fromEntries(values) as unknown as AgentSettings,
    faults: [...oddValues(values), ...spanFaults(values), ...nodeNameFaults(nodeName)],
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function valueOf(
  name: string,
  field: AgentField,
  from: {
    readonly settings: readonly FlagSetting[];
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly origins: Map<string, Origin>;
  },
): unknown {
  const flag = from.settings.find(({ target }) => target.group === 'agent' && target.path[0] === name);
  if (flag) return flag.value;
  const variable = field.env ?? '';
  const value = ownMember(from.env, variable);
  if (variable === '' || value === undefined || value === '') return field.default;
  from.origins.set(name, { from: 'env', variable });
  return value;
}

/** Returns the more verbose of a log level and the kubelet's verbosity: 2 and 3 mean `info`, 4 and higher `debug`. */
export function louder(level: LogLevel, verbosity: number): LogLevel {
  if (verbosity < 2 || level === 'debug') return level;
  return verbosity < 4 ? 'info' : 'debug';
}

/** Sets the settings that default to others. */
function follow(values: Map<string, unknown>, origins: ReadonlyMap<string, Origin>): void {
  if (origins.has('rootDir') && !origins.has('certDir'))
    values.set('certDir', `${textOf(values.get('rootDir'))}/pki`);
}

function oddValues(values: ReadonlyMap<string, unknown>): OptionFault[] {
  return Object.entries<AgentField>(agentFields).flatMap(([path, { values: allowed }]) => {
    const value = values.get(path);
    if (!allowed || allowed.includes(textOf(value))) return [];
    return [
      { path, value, message: 'no such value', allowed: allowed.filter((one) => one !== '').join(', ') },
    ];
  });
}

function spanFaults(values: ReadonlyMap<string, unknown>): OptionFault[] {
  return Object.entries<AgentField>(agentFields).flatMap(([path, { type, allowed = '' }]) => {
    const value = values.get(path);
    if (type !== 'duration' || durationMs(textOf(value)) >= 0) return [];
    return [{ path, value, message: 'no such span of time', allowed }];
  });
}

function nodeNameFaults(value: string): OptionFault[] {
  if (value.length <= mostNameLetters && nodeNameForm.test(value)) return [];
  const allowed = `a DNS-1123 subdomain of at most ${mostNameLetters} characters`;
  return [{ path: 'hostnameOverride', value, message: 'not a name of a Node', allowed }];
}
