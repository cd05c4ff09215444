import { ownMember } from '../base/own.ts';
import type { AgentSettings } from './agent/fields.ts';
import { type FlagSetting, louder, readAgent } from './agent/read.ts';
import { settingFaults, withoutSettings, type Settings, valueAt } from './decode.ts';
import { withDefaults } from './defaults.ts';
import { mergedSettings, type ReadFile, readFiles } from './files.ts';
import { flagNamed, flagTargets, type FlagTarget, parseFlag } from './flags.ts';
import type { KubeletConfiguration } from './kubelet/kubelet-configuration.ts';
import { nearest } from './nearest.ts';
import { type OptionFault, OptionsError } from './options-error.ts';
import { validateKubeletConfiguration } from './kubelet/validate.ts';
import { idleSettings } from './kubelet/without-effect.ts';
import { type Origin, type OptionSources, originOf } from './origin.ts';

/** The settings that the agent runs with. */
export interface EffectiveOptions {
  readonly kubelet: KubeletConfiguration;
  readonly agent: AgentSettings;
  /** Origins by path, e.g. `authentication.webhook.cacheTTL`; a setting without an origin, of its own or of a parent, is a default. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Unknown and duplicate settings, and settings without effect that differ from their default. */
  readonly warnings: readonly OptionFault[];
}

/**
 * Merges flags, environment, drop-ins, file and defaults, in this order of precedence, and validates them.
 *
 * @throws {OptionsError} with all faults
 */
export function loadOptions(sources: OptionSources): EffectiveOptions {
  const faults: OptionFault[] = [];
  const settings = readFlags(sources, faults);
  const path = sources.configFile ?? textFlag(settings, 'config');
  const files = readFiles(path, textFlag(settings, 'config-dir'), sources, faults);
  const origins = new Map<string, Origin>();
  for (const { rawSettings, path: file, locate } of files)
    noteFile(origins, rawSettings, [], (at) => ({ from: 'file', file, ...locate(at) }));
  for (const { target } of settings) noteFlag(origins, target);
  const kubeletFlags = settings.filter(({ target }) => target.group === 'kubelet');
  const rawSettings = kubeletFlags.reduce(
    (all, { target, value }) => setIn(all, target.path, value),
    files.reduce<Settings>((all, file) => mergedSettings(all, file.rawSettings), {}),
  );
  const placed = placer(origins, files);
  const checked = settingFaults(rawSettings);
  faults.push(...checked.faults.map(placed));
  const agent = readAgent(settings, sources, origins);
  faults.push(...agent.faults.map(placed));
  // The validation rules run on the remaining settings.
  const kubelet = withDefaults(withoutSettings(rawSettings, checked.faults));
  faults.push(...validateKubeletConfiguration(kubelet).map((fault) => placed(described(fault, kubelet))));
  if (faults.length > 0) throw new OptionsError(faults);
  return {
    kubelet,
    agent: withLogging(agent.options, kubelet, origins),
    origins,
    warnings: [
      ...files.flatMap(({ warnings }) => warnings),
      ...checked.unknown.map(placed),
      ...idleSettings(kubelet).map(placed),
    ],
  };
}

function textFlag(settings: readonly FlagSetting[], flag: string): string | undefined {
  const value = settings.find(({ target }) => target.flag === flag)?.value;
  return typeof value === 'string' ? value : undefined;
}

function readFlags(
  { flags = {}, ownFlags = [] }: Pick<OptionSources, 'flags' | 'ownFlags'>,
  faults: OptionFault[],
): FlagSetting[] {
  return Object.entries(flags).flatMap(([name, flagValue]) => {
    if (flagValue === undefined) return [];
    const target = flagNamed(name);
    if (!target) {
      const near = nearest(name, [...ownFlags, ...flagTargets.keys()]);
      const hint = near === undefined ? '' : `; did you mean --${near}?`;
      faults.push({ path: '', from: `--${name}`, message: `there is no such flag${hint}` });
      return [];
    }
    const parsed = parseFlag(target.field, flagValue);
    if ('value' in parsed) return [{ target, value: parsed.value }];
    const { allowed } = target.field;
    faults.push({
      path: target.path.join('.'),
      from: `--${target.flag}`,
      message: parsed.fault,
      ...(allowed !== undefined && { allowed }),
    });
    return [];
  });
}

/** Records the origin of every leaf of a document. */
function noteFile(
  origins: Map<string, Origin>,
  value: unknown,
  path: readonly string[],
  originAt: (path: readonly string[]) => Origin,
): void {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (path.length > 0 && (inner.length === 0 || Array.isArray(value))) {
    forgetBelow(origins, path.join('.'));
    origins.set(path.join('.'), originAt(path));
  }
  for (const [key, member] of inner) noteFile(origins, member, [...path, key], originAt);
}

/** Records a flag as origin; it replaces its setting as a whole, including what the file sets below it. */
function noteFlag(origins: Map<string, Origin>, { path, flag }: FlagTarget): void {
  const key = path.join('.');
  forgetBelow(origins, key);
  origins.set(key, { from: 'flag', flag });
}

function forgetBelow(origins: Map<string, Origin>, key: string): void {
  for (const other of origins.keys()) if (other.startsWith(`${key}.`)) origins.delete(other);
}

/** Returns a function that adds to a fault where its setting comes from, searching the file for settings within merged ones. */
function placer(
  origins: ReadonlyMap<string, Origin>,
  files: readonly ReadFile[],
): (fault: OptionFault) => OptionFault {
  return (fault) => {
    const place = placeOf(fault.path, origins);
    const path = fault.path.split('.');
    const file = files.findLast(({ rawSettings }) => Object.hasOwn(rawSettings, path[0] ?? ''));
    return {
      ...(place.from === undefined && file ? { from: file.path, ...file.locate(path) } : place),
      ...fault,
    };
  };
}

/** Log level and format default to the kubelet's (`--v`, `logging.verbosity`, `logging.format`). */
const withLogging = (
  agent: AgentSettings,
  { logging: { verbosity, format } }: KubeletConfiguration,
  origins: ReadonlyMap<string, Origin>,
): AgentSettings => ({
  ...agent,
  ...(!origins.has('logLevel') && { logLevel: louder(agent.logLevel, verbosity) }),
  ...(!origins.has('logFormat') && { logFormat: format === 'json' ? 'json' : 'text' }),
});

function placeOf(path: string, origins: ReadonlyMap<string, Origin>): Partial<OptionFault> {
  const origin = originOf(path, origins);
  switch (origin.from) {
    case 'default':
      return {};
    case 'flag':
      return { from: `--${origin.flag}` };
    case 'env':
      return { from: `$${origin.variable}` };
    case 'file': {
      const { file, line, column } = origin;
      return { from: file, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
    }
  }
}

/** Adds the invalid value and the allowed values to a fault. */
function described(fault: OptionFault, kubelet: KubeletConfiguration): OptionFault {
  const value = valueAt(kubelet, fault.path);
  const allowed = [...flagTargets.values()].find(({ path }) => path.join('.') === fault.path)?.field.allowed;
  return { ...fault, value, ...(allowed !== undefined && { allowed }) };
}

function setIn(settings: Settings, [head = '', ...rest]: readonly string[], value: unknown): Settings {
  if (rest.length === 0) return { ...settings, [head]: value };
  const inner = ownMember(settings, head);
  const branch = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {};
  return { ...settings, [head]: setIn(branch as Settings, rest, value) };
}
