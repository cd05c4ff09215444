import { readFileSync } from 'node:fs';
import { AgentError, messageOf } from '../base/errors.ts';
import { parseDocument } from '../go/yaml/document.ts';
import { checkRegistry, type RegistryAuth, type RegistryOptions } from '../pods/registry.ts';

const flag = '--image-registries';

const fields: readonly (keyof RegistryAuth)[] = [
  ...(['repository', 'secretName', 'serverAddress', 'username'] as const),
  ...(['password', 'auth', 'identityToken', 'registryToken'] as const),
];

/**
 * Reads the registries of images from the member `registry` of a YAML or JSON file: `default`, and the list `allows`. Other members of the
 * file are left alone. Messages name settings, never their values.
 *
 * @throws {AgentError} `invalid_argument`, naming file and setting
 */
export function readImageRegistries(file: string): RegistryOptions {
  try {
    const registry = mapOf('registry', mapOf('the file', documentOf(file))['registry']);
    const { default: main, allows = [], ...others } = registry;
    refuseOthers('registry', others);
    if (!Array.isArray(allows)) throw invalid('registry.allows: must be a list of registries');
    const options = {
      ...(main !== undefined && { default: authOf('registry.default', main) }),
      allows: (allows as readonly unknown[]).map((one, index) => authOf(`registry.allows[${index}]`, one)),
    };
    checkRegistry(options);
    return options;
  } catch (cause) {
    throw new AgentError('invalid_argument', `${flag} ${file}: ${messageOf(cause)}`, { cause });
  }
}

function authOf(path: string, value: unknown): RegistryAuth {
  const { entries, others } = splitOf(path, value);
  refuseOthers(path, others);
  const auth = Object.fromEntries(
    Object.entries(entries).flatMap(([name, text]) => {
      if (text === undefined || text === null || text === '') return [];
      if (typeof text !== 'string') throw invalid(`${path}.${name}: must be a text`);
      return [[name, text] as const];
    }),
  ) as RegistryAuth;
  const { repository, serverAddress, secretName } = auth;
  const isInline = Object.keys(auth).some(
    (name) => !['repository', 'serverAddress', 'secretName'].includes(name),
  );
  if (isInline && repository === undefined && serverAddress === undefined)
    throw invalid(`${path}: credentials need a repository or a serverAddress that they are for`);
  if ((auth.username === undefined) !== (auth.password === undefined))
    throw invalid(`${path}: username and password belong together`);
  if (repository === undefined && serverAddress === undefined && secretName === undefined)
    throw invalid(`${path}: needs a repository, a serverAddress or a secretName`);
  return auth;
}

function splitOf(
  path: string,
  value: unknown,
): {
  readonly entries: Readonly<Record<string, unknown>>;
  readonly others: Readonly<Record<string, unknown>>;
} {
  const all = Object.entries(mapOf(path, value));
  const isField = ([name]: readonly [string, unknown]): boolean =>
    (fields as readonly string[]).includes(name);
  return {
    entries: Object.fromEntries(all.filter(isField)),
    others: Object.fromEntries(all.filter((one) => !isField(one))),
  };
}

function refuseOthers(path: string, others: Readonly<Record<string, unknown>>): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw invalid(`${path}.${name}: is no setting`);
}

function mapOf(path: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw invalid(`${path}: must be a map`);
}

function documentOf(file: string): unknown {
  const result = parseDocument(readFileSync(file, 'utf8'));
  if (result.ok) return result.document.value;
  throw invalid(result.fault.message);
}

const invalid = (what: string): AgentError => new AgentError('invalid_argument', what);
