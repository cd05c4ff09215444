import { ownMember } from '../../base/own.ts';
import { AgentError } from '../../base/errors.ts';
import { expand, ExpansionBudget } from '../../kube/expansion.ts';
import { downwardField } from '../../kube/field-path.ts';
import { fieldValue } from '../../kube/field-value.ts';
import { goQuote } from '../../go/go-quote.ts';
import { isStaticPod, namespaceOf } from '../../kube/names.ts';
import { containerOfPod, resourceFieldValue } from '../../kube/resources/resource-field.ts';
import type { ConfigMap, Container, EphemeralContainer, Pod, Secret, Service } from '../../kube/types.ts';
import { onePerFamily, primaryFamilyOf } from '../../kube/address-family.ts';
import { serviceEnvironment } from './service-environment.ts';

type EnvVar = NonNullable<Container['env']>[number];
type EnvSource = NonNullable<EnvVar['valueFrom']>;
type FileKey = NonNullable<EnvSource['fileKeyRef']>;
type EnvFrom = NonNullable<Container['envFrom']>[number];

/** Sources of a container's environment variables besides the pod. Lookups are in the pod's namespace. */
export interface EnvironmentSources {
  /** Returns a config map; `undefined` when it does not exist. May throw the API server's error instead. */
  configMap(name: string): ConfigMap | undefined;
  /** Like {@link configMap}; values are base64. */
  secret(name: string): Secret | undefined;
  /** All known services, of every namespace. */
  readonly services: readonly Service[];
  /** True once services have been listed; static pods do not wait for it. */
  readonly servicesSynced: boolean;
  /** The node's allocatable amounts; they replace limits that are not set. */
  readonly nodeAllocatable: Readonly<Record<string, string>>;
  /** The node's addresses, primary first. */
  readonly hostIps: readonly string[];
  readonly podIps: readonly string[];
  /** Returns a key of an environment file in a volume of the pod; `undefined` when the key, or an optional file, does not exist. */
  fileKey?(reference: FileKey): string | undefined;
}

/** An environment variable of a process. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns the environment of a container: `envFrom`, overridden by `env` (each entry may refer to earlier ones), then the variables of
 * services.
 *
 * Follows kubelet `makeEnvironmentVariables`.
 *
 * @throws {AgentError} `unavailable` before services are synced; `not_found`, `invalid_argument` for a reference that cannot be resolved.
 *   The message is the kubelet's, and becomes that of `CreateContainerConfigError`.
 */
export function makeEnvironment(
  pod: Pod,
  container: Container | EphemeralContainer,
  sources: EnvironmentSources,
): readonly EnvironmentVariable[] {
  const links = pod.spec?.enableServiceLinks;
  if (links === undefined)
    throw new AgentError(
      'invalid_argument',
      'nil pod.spec.enableServiceLinks encountered, cannot construct envvars',
    );
  if (!isStaticPod(pod) && !sources.servicesSynced)
    throw new AgentError(
      'unavailable',
      'services have not yet been read at least once, cannot construct envvars',
    );
  const services = serviceEnvironment(sources.services, namespaceOf(pod), links);
  const own = new Map<string, string>();
  const budget = new ExpansionBudget();
  for (const from of container.envFrom ?? [])
    for (const [key, value] of valuesFrom(from, sources)) own.set(`${from.prefix ?? ''}${key}`, value);
  for (const variable of container.env ?? []) {
    const lookup = (name: string): string | undefined => own.get(name) ?? services.get(name);
    const value = valueOf(variable, lookup, { pod, container, sources });
    if (value !== undefined) own.set(variable.name, budget.spend(value, variable));
  }
  return [...new Map([...services, ...own])].map(([name, value]) => ({ name, value }));
}

interface Resolution {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly sources: EnvironmentSources;
}

function valueOf(
  { value = '', valueFrom }: EnvVar,
  lookup: (name: string) => string | undefined,
  context: Resolution,
): string | undefined {
  if (value !== '') return expand(value, lookup);
  return valueFrom ? resolve(valueFrom, context) : '';
}

/** Returns the value of a reference; `undefined` when it is optional and does not exist. */
function resolve(source: EnvSource, { pod, container, sources }: Resolution): string | undefined {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) return podField(pod, fieldRef, sources);
  if (resourceFieldRef) {
    const named = resourceFieldRef.containerName;
    const of = named ? containerOfPod(pod, named) : container;
    return resourceFieldValue(pod, of, resourceFieldRef, sources.nodeAllocatable);
  }
  if (configMapKeyRef) return configMapValue(configMapKeyRef, pod, sources);
  if (secretKeyRef) return secretValue(secretKeyRef, pod, sources);
  return fileKeyRef ? fileValue(fileKeyRef, sources) : '';
}

function configMapValue(reference: Reference, pod: Pod, sources: EnvironmentSources): string | undefined {
  const map = demand('configmap', reference, sources.configMap(reference.name ?? ''));
  return map && keyOf('ConfigMap', reference, map.data ?? {}, pod);
}

function secretValue(reference: Reference, pod: Pod, sources: EnvironmentSources): string | undefined {
  const secret = demand('secret', reference, sources.secret(reference.name ?? ''));
  return secret && keyOf('Secret', reference, decoded(secret), pod);
}

interface Reference {
  readonly name?: string;
  readonly key?: string;
  readonly optional?: boolean;
}

/** Returns the object; `undefined` when it does not exist and the reference is optional. */
function demand<T>(kind: string, reference: Reference, object: T | undefined): T | undefined {
  if (object === undefined && !(reference.optional ?? false))
    throw new AgentError('not_found', `${kind} ${goQuote(reference.name ?? '')} not found`);
  return object;
}

function keyOf(
  kind: string,
  { name = '', key = '', optional = false }: Reference,
  data: Readonly<Record<string, string>>,
  pod: Pod,
): string | undefined {
  const value = Object.hasOwn(data, key) ? ownMember(data, key) : undefined;
  if (value === undefined && !optional)
    throw new AgentError('not_found', `couldn't find key ${key} in ${kind} ${namespaceOf(pod)}/${name}`);
  return value;
}

const decoded = ({ data = {} }: Secret): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );

function valuesFrom(
  { configMapRef, secretRef }: EnvFrom,
  sources: EnvironmentSources,
): readonly (readonly [string, string])[] {
  if (configMapRef)
    return Object.entries(
      demand('configmap', configMapRef, sources.configMap(configMapRef.name ?? ''))?.data ?? {},
    );
  if (!secretRef) return [];
  const secret = demand('secret', secretRef, sources.secret(secretRef.name ?? ''));
  return secret ? Object.entries(decoded(secret)) : [];
}

function fileValue(reference: FileKey, sources: EnvironmentSources): string | undefined {
  const { path, key, optional = false } = reference;
  const value = sources.fileKey?.(reference);
  if (value === undefined && !optional)
    throw new AgentError(
      'not_found',
      `environment variable key ${goQuote(key)} not found in file ${goQuote(path)}`,
    );
  return value;
}

/** Returns a field of the pod for the downward API. Follows kubelet `podFieldSelectorRuntimeValue`. */
function podField(
  pod: Pod,
  { apiVersion = '', fieldPath }: { readonly apiVersion?: string; readonly fieldPath: string },
  { hostIps, podIps }: EnvironmentSources,
): string {
  const field = downwardField(apiVersion, fieldPath);
  if ('error' in field) throw new AgentError('invalid_argument', field.error);
  const ips = onePerFamily(podIps, primaryFamilyOf(hostIps));
  const runtime: Readonly<Record<string, string | undefined>> = {
    'spec.nodeName': pod.spec?.nodeName ?? '',
    'spec.serviceAccountName': pod.spec?.serviceAccountName ?? '',
    'status.hostIP': hostIps[0] ?? '',
    'status.hostIPs': hostIps.join(','),
    'status.podIP': ips[0] ?? '',
    'status.podIPs': ips.join(','),
  };
  return ownMember(runtime, field.path) ?? fieldValue(pod, field.path);
}
