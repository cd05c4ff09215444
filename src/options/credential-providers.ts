import { tableOf } from '../base/own.ts';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';
import { parseDocument } from '../go/yaml/document.ts';
import { yamlText } from '../go/yaml/reader.ts';
import { parseDuration } from '../kube/duration.ts';
import { goQuote } from '../go/go-quote.ts';
import { typeMetaOf } from '../go/go-types.ts';
import { parseSchemelessUrl } from '../kube/registry-url.ts';
import {
  duplicate,
  type Faults,
  forbidden,
  formatFieldErrors,
  invalid,
  invalidEach,
  required,
  unsupported,
} from '../kube/validation/field-error.ts';
import { qualifiedNameRule } from '../kube/validation/name-rules.ts';
import type { Field, StructType } from './field.ts';
import { checkStructure } from './schema.ts';

/** How a plug-in receives a token of the pod's service account. */
export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  /** Whether credentials are cached per service account or per token. */
  readonly cacheType: 'ServiceAccount' | 'Token';
  /** Whether the plug-in is skipped for pods without a service account. */
  readonly requireServiceAccount: boolean;
  readonly requiredServiceAccountAnnotationKeys?: readonly string[];
  readonly optionalServiceAccountAnnotationKeys?: readonly string[];
}

/** A credential provider plug-in: an executable in the plug-in directory. */
export interface CredentialProvider {
  readonly name: string;
  /** Registries that it serves: host with globs, port and path. */
  readonly matchImages: readonly string[];
  /** How long a response is cached that does not specify it. */
  readonly defaultCacheDuration: string;
  /** API version of request and response. */
  readonly apiVersion: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly tokenAttributes?: TokenAttributes;
}

const group = 'kubelet.config.k8s.io';
const execV1 = 'credentialprovider.kubelet.k8s.io/v1';
/** API versions of request and response. */
const execVersions: readonly string[] = [execV1, `${execV1}alpha1`, `${execV1}beta1`];
const cacheTypes: readonly string[] = ['ServiceAccount', 'Token'];

const about = ''; // documented by the Kubernetes API
const text: Field = { type: 'string', about };
const texts: Field = { type: '[]string', about };

const tokenAttributesType: StructType = {
  struct: 'ServiceAccountTokenAttributes',
  fields: {
    serviceAccountTokenAudience: text,
    cacheType: text,
    requireServiceAccount: { type: 'bool', about },
    requiredServiceAccountAnnotationKeys: texts,
    optionalServiceAccountAnnotationKeys: texts,
  },
};

const structFor = (fields: StructType['fields']): StructType => ({
  struct: 'CredentialProviderConfig',
  fields: { providers: { type: { listOf: { struct: 'CredentialProvider', fields } }, about } },
});

const oldFields: StructType['fields'] = {
  name: text,
  matchImages: texts,
  defaultCacheDuration: { type: 'duration', about },
  apiVersion: text,
  args: texts,
  env: { type: { listOf: { struct: 'ExecEnvVar', fields: { name: text, value: text } } }, about },
};

/** The structs of each version of the file; the older ones have no tokens. */
const structs: Readonly<Record<string, StructType>> = tableOf({
  [`${group}/v1`]: structFor({ ...oldFields, tokenAttributes: { type: tokenAttributesType, about } }),
  [`${group}/v1beta1`]: structFor(oldFields),
  [`${group}/v1alpha1`]: structFor(oldFields),
});

/**
 * Reads the plug-ins of a CredentialProviderConfig: a file, or a directory of `.json`, `.yaml` and `.yml` files in the order of their
 * names.
 *
 * Follows `readCredentialProviderConfig` and `validateCredentialProviderConfig` (pkg/credentialprovider/plugin).
 *
 * @throws {AgentError} `invalid_argument` with the kubelet's message
 */
export function readCredentialProviders(path: string): readonly CredentialProvider[] {
  const providers: CredentialProvider[] = [];
  for (const file of filesOf(path))
    for (const provider of readFile(file)) {
      if (providers.some(({ name }) => name === provider.name))
        throw fault(`duplicate provider name ${goQuote(provider.name)} found in configuration file(s)`);
      providers.push(provider);
    }
  const faults = [...providerFaults(providers)];
  if (faults.length > 0)
    throw fault(`failed to validate credential provider config: ${formatFieldErrors(faults)}`);
  return providers;
}

function filesOf(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
  } catch (reason) {
    throw fault(`unable to access path ${goQuote(path)}: ${messageOf(reason)}`);
  }
  const files = readdirSync(path, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && ['.json', '.yaml', '.yml'].includes(extname(entry.name)))
    .map(({ name }) => join(path, name))
    .sort();
  if (files.length === 0) throw fault(`no configuration files found in directory ${goQuote(path)}`);
  return files;
}

function readFile(path: string): readonly CredentialProvider[] {
  let content: string;
  try {
    content = yamlText(readFileSync(path));
  } catch (reason) {
    throw fault(`unable to read file ${goQuote(path)}: ${messageOf(reason)}`);
  }
  try {
    return decode(content);
  } catch (reason) {
    throw fault(`error decoding config ${goQuote(path)}: ${messageOf(reason)}`);
  }
}

function decode(content: string): readonly CredentialProvider[] {
  const parsed = parseDocument(content);
  if (!parsed.ok) throw new Error(parsed.fault.message);
  const { value, duplicates } = parsed.document;
  const meta = typeMetaOf(value, content);
  if (typeof meta === 'string') throw new Error(meta);
  const struct = structs[meta.apiVersion];
  if (!struct || meta.kind !== 'CredentialProviderConfig')
    throw new Error(`no kind ${goQuote(meta.kind)} is registered for version ${goQuote(meta.apiVersion)}`);
  const { faults, unknown } = checkStructure(value as Readonly<Record<string, unknown>>, struct);
  const [first] = faults;
  if (first) throw new Error(first.message);
  const strict = [
    ...unknown.map((at) => `unknown field ${goQuote(goPath(at))}`),
    ...duplicates.map(({ key }) => `key ${goQuote(key)} already set in map`),
  ];
  if (strict.length > 0) throw new Error(`strict decoding error: ${strict.join(', ')}`);
  return (value as { readonly providers?: readonly CredentialProvider[] }).providers ?? [];
}

const goPath = (path: readonly string[]): string =>
  path.reduce(
    (all, part) => (/^\d+$/.test(part) ? `${all}[${part}]` : all === '' ? part : `${all}.${part}`),
    '',
  );

/** A decoded provider with members possibly missing. */
type Draft = Partial<Omit<CredentialProvider, 'tokenAttributes'>> & {
  readonly tokenAttributes?: Partial<TokenAttributes> | null;
};

function* providerFaults(providers: readonly Draft[]): Faults {
  if (providers.length === 0) yield required('providers', 'at least 1 item in plugins is required');
  for (const provider of providers) {
    yield* nameFaults(provider.name ?? '');
    yield* versionFaults(provider.apiVersion ?? '');
    yield* matchFaults(provider.matchImages ?? []);
    yield* durationFaults(provider.defaultCacheDuration);
    if (provider.tokenAttributes)
      yield* tokenFaults(provider.tokenAttributes, provider.apiVersion === execV1);
  }
}

function* nameFaults(name: string): Faults {
  if (name.includes('/')) yield invalid('providers.name', name, "provider name cannot contain '/'");
  if (name.includes(' ')) yield invalid('providers.name', name, 'provider name cannot contain spaces');
  if (name === '.' || name === '..')
    yield invalid('providers.name', name, `provider name cannot be '${name}'`);
}

function* versionFaults(version: string): Faults {
  if (version === '') yield required('providers.apiVersion');
  else if (!execVersions.includes(version)) yield unsupported('providers.apiVersion', version, execVersions);
}

function* matchFaults(patterns: readonly string[]): Faults {
  if (patterns.length === 0)
    yield required('providers.matchImages', 'at least 1 item in matchImages is required');
  for (const pattern of patterns) {
    const url = parseSchemelessUrl(pattern);
    if (typeof url === 'string')
      yield invalid('providers.matchImages', pattern, `match image is invalid: ${url}`);
  }
}

function* durationFaults(duration: string | undefined): Faults {
  const field = 'providers.defaultCacheDuration';
  if (duration === undefined) yield required(field);
  else if (Number(parseDuration(duration)) < 0)
    yield invalid(field, duration, 'defaultCacheDuration must be greater than or equal to 0');
}

function* tokenFaults(attributes: Partial<TokenAttributes>, isV1: boolean): Faults {
  const field = 'providers.tokenAttributes';
  const needed = attributes.requiredServiceAccountAnnotationKeys ?? [];
  const optional = attributes.optionalServiceAccountAnnotationKeys ?? [];
  if (!attributes.serviceAccountTokenAudience) yield required(`${field}.serviceAccountTokenAudience`);
  if (attributes.requireServiceAccount === undefined) yield required(`${field}.requireServiceAccount`);
  if (!isV1) yield forbidden(field, `tokenAttributes is only supported for ${execV1} API version`);
  if (attributes.requireServiceAccount === false && needed.length > 0)
    yield forbidden(
      `${field}.requiredServiceAccountAnnotationKeys`,
      'requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set',
    );
  yield* keyFaults(`${field}.requiredServiceAccountAnnotationKeys`, needed);
  yield* keyFaults(`${field}.optionalServiceAccountAnnotationKeys`, optional);
  const both = [...new Set(needed.filter((key) => optional.includes(key)))].sort();
  if (both.length > 0) yield invalid(field, both, 'annotation keys cannot be both required and optional');
  yield* cacheTypeFaults(`${field}.cacheType`, attributes.cacheType ?? '');
}

function* cacheTypeFaults(field: string, type: string): Faults {
  if (type === '')
    yield required(
      field,
      `cacheType is required to be set when tokenAttributes is specified. Supported values are: ${cacheTypes.join(', ')}`,
    );
  else if (!cacheTypes.includes(type)) yield unsupported(field, type, cacheTypes);
}

function* keyFaults(field: string, keys: readonly string[]): Faults {
  for (const [index, key] of keys.entries()) {
    yield* invalidEach(field, key, qualifiedNameRule(key.toLowerCase()));
    if (keys.indexOf(key) < index) yield duplicate(field, key);
  }
}

const fault = (message: string): AgentError => new AgentError('invalid_argument', message);
