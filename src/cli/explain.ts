import { hostname } from 'node:os';
import { join } from 'node:path';
import { explain as explainOptions } from '../options/explain.ts';
import { type EffectiveOptions, loadOptions } from '../options/load.ts';
import type { Origin } from '../options/origin.ts';
import { nearest } from '../options/nearest.ts';
import { formatFault } from '../options/options-error.ts';
import { settingNames } from '../options/schema.ts';
import { exitCodes } from './exit-codes.ts';
import { explainControllers, isOfControllers } from './explain-controllers.ts';
import type { ExplainOptions } from './program.ts';
import { readRest } from '../options/command-line.ts';

/**
 * Prints the effective settings and the origin of each: `default`, `FILE:LINE`, `--flag` or `$VARIABLE`; for `controllers` the names of
 * `--controllers`.
 *
 * @throws {OptionsError} with every fault of file and flags
 */
export function explain(
  options: ExplainOptions,
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => unknown,
): number {
  const { flags, operands } = readRest(options.rest);
  const path = operands[0] ?? '';
  if (isOfControllers(path)) return explainControllers(path, options.output, say);
  const { nodeName, config } = options;
  const loaded = loadOptions({
    flags: { ...flags, ...(nodeName !== undefined && { 'hostname-override': nodeName }) },
    env,
    hostname: hostname(),
    ownFlags: ['data-dir', 'manifests', 'manifest-url', 'node-name'],
    ...(config !== undefined && { configFile: config }),
  });
  const effective = inForce(loaded, options, env);
  const shown = explainOptions(effective).filter((each) => isBelow(each.path, path));
  if (shown.length === 0) return nothingAt(path, say);
  if (options.output === 'json') for (const each of shown) say(JSON.stringify(each));
  else {
    const width = Math.max(...shown.map((each) => each.path.length));
    for (const { path: at, value, from } of shown)
      say(`${at.padEnd(width)}  ${JSON.stringify(value)}  (${from})`);
  }
  for (const warning of effective.warnings) say(`warning: ${formatFault(warning)}`);
  return exitCodes.ok;
}

type Origins = Map<string, Origin>;

/** Returns the settings including those that the commands derive from their own flags: directories and manifests. */
function inForce(
  { kubelet, agent, origins, warnings }: EffectiveOptions,
  options: ExplainOptions,
  env: Readonly<Record<string, string | undefined>>,
): EffectiveOptions {
  const { manifests, manifestUrl, nodeName } = options;
  const from: Origins = new Map(origins);
  const directories = directoriesOf(options, env, from);
  const flag = (name: string, ...paths: readonly string[]): void => {
    for (const path of paths) from.set(path, { from: 'flag', flag: name });
  };
  if (manifests !== undefined) flag('manifests', 'staticPodPath');
  if (manifestUrl !== undefined) flag('manifest-url', 'staticPodURL');
  if (nodeName !== undefined) flag('node-name', 'hostnameOverride', 'nodeName');
  return {
    kubelet: {
      ...kubelet,
      ...(manifests !== undefined && { staticPodPath: manifests }),
      ...(manifestUrl !== undefined && { staticPodURL: manifestUrl }),
    },
    agent: { ...agent, ...directories },
    origins: from,
    warnings,
  };
}

/** Returns the directories that default to subdirectories of the data directory; records their origin in `origins`. */
function directoriesOf(
  { dataDir, isDataDirSet = false }: ExplainOptions,
  env: Readonly<Record<string, string | undefined>>,
  origins: Origins,
): Partial<Record<'dataDir' | 'rootDir' | 'certDir', string>> {
  if (dataDir === undefined) return {};
  const hasRoot = origins.has('rootDir');
  const directories = {
    dataDir,
    ...(!hasRoot && { rootDir: join(dataDir, 'agent') }),
    ...(!hasRoot && !origins.has('certDir') && { certDir: join(dataDir, 'pki') }),
  };
  const variable = 'PODTENDER_DATA_DIR';
  const ofEnvironment: Origin = env[variable] ? { from: 'env', variable } : { from: 'default' };
  for (const path of Object.keys(directories))
    origins.set(path, isDataDirSet ? { from: 'flag', flag: 'data-dir' } : ofEnvironment);
  return directories;
}

/** Reports a setting without a value, or an unknown one. */
function nothingAt(path: string, say: (line: string) => unknown): number {
  const parts = path.split('.');
  const names = settingNames(parts.slice(0, -1));
  const last = parts.at(-1) ?? '';
  if (names.includes(last)) {
    say(`${path} is not set`);
    return exitCodes.ok;
  }
  const near = nearest(last, names);
  const hint = near === undefined ? '' : `; did you mean ${[...parts.slice(0, -1), near].join('.')}?`;
  say(`there is no setting ${path}${hint}`);
  return exitCodes.invalid;
}

function isBelow(path: string, ancestor: string): boolean {
  return ancestor === '' || path === ancestor || path.startsWith(`${ancestor}.`);
}
