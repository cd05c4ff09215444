import { downwardField, splitSubscript } from '../field-path.ts';
import { isZeroQuantity, tryParseQuantity, formatQuantity } from '../resources/quantity.ts';
import type { Container } from '../types.ts';
import { type Faults, invalid, invalidEach, required, unsupported } from './field-error.ts';
import { configMapKeyRule, dns1123Subdomain, envVarNameRule, qualifiedNameRule } from './name-rules.ts';
import { label, noBacksteps } from './shared.ts';

type EnvVar = NonNullable<Container['env']>[number];
type EnvSource = NonNullable<EnvVar['valueFrom']>;
type EnvFrom = NonNullable<Container['envFrom']>[number];

const envFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const containerResources = ['cpu', 'ephemeral-storage', 'memory']
  .flatMap((name) => [`limits.${name}`, `requests.${name}`])
  .sort();
const sizes = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

/** Validates the environment variables of a container. */
export function* validateEnv(field: string, env: readonly EnvVar[]): Faults {
  for (const [i, variable] of env.entries()) {
    const name = (variable as Partial<EnvVar>).name ?? '';
    const at = `${field}[${i}]`;
    if (name === '') yield required(`${at}.name`);
    else yield* invalidEach(`${at}.name`, name, envVarNameRule(name));
    if (variable.valueFrom) yield* valueFrom(`${at}.valueFrom`, variable.valueFrom, variable.value ?? '');
  }
}

function* valueFrom(field: string, source: EnvSource, value: string): Faults {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) yield* fieldSelector(`${field}.fieldRef`, fieldRef, envFields);
  if (resourceFieldRef) yield* resourceSelector(`${field}.resourceFieldRef`, resourceFieldRef, false);
  if (configMapKeyRef) yield* keySelector(`${field}.configMapKeyRef`, configMapKeyRef);
  if (secretKeyRef) yield* keySelector(`${field}.secretKeyRef`, secretKeyRef);
  if (fileKeyRef) yield* fileKeySelector(`${field}.fileKeyRef`, fileKeyRef);
  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(
    Boolean,
  ).length;
  if (count === 0)
    yield invalid(
      field,
      '',
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  else if (value !== '') yield invalid(field, '', 'may not be specified when `value` is not empty');
  else if (count > 1) yield invalid(field, '', 'may not have more than one field specified at a time');
}

/** Validates a field reference; `supported` are the paths without subscript. */
export function* fieldSelector(
  field: string,
  { apiVersion = '', fieldPath = '' }: { readonly apiVersion?: string; readonly fieldPath?: string },
  supported: readonly string[],
): Faults {
  if (apiVersion === '') return yield required(`${field}.apiVersion`);
  if (fieldPath === '') return yield required(`${field}.fieldPath`);
  const found = downwardField(apiVersion, fieldPath);
  if ('error' in found)
    return yield invalid(`${field}.fieldPath`, fieldPath, `error converting fieldPath: ${found.error}`);
  const { path, subscript } = splitSubscript(found.path);
  if (subscript !== undefined) {
    const key = path === 'metadata.annotations' ? subscript.toLowerCase() : subscript;
    yield* invalidEach(field, subscript, qualifiedNameRule(key));
  } else if (!supported.includes(path)) yield unsupported(`${field}.fieldPath`, path, [...supported].sort());
}

/** Validates a resource reference; in volumes, the container name is required. */
export function* resourceSelector(
  field: string,
  reference: { readonly containerName?: string; readonly resource?: string; readonly divisor?: string },
  inVolume: boolean,
): Faults {
  const { containerName = '', resource = '', divisor = '0' } = reference;
  if (inVolume && containerName === '') yield required(`${field}.containerName`);
  else if (resource === '') yield required(`${field}.resource`);
  else if (!containerResources.includes(resource) && !/^(limits|requests)\.hugepages-/.test(resource))
    yield unsupported(`${field}.resource`, resource, containerResources);
  yield* divisorFaults(field, resource, divisor);
}

const divisors: readonly (readonly [RegExp, readonly string[], string])[] = [
  [/^(limits|requests)\.cpu$/, ['1m', '1'], 'cpu'],
  [/^(limits|requests)\.memory$/, sizes, 'memory'],
  [/^(limits|requests)\.ephemeral-storage$/, sizes, 'local ephemeral storage'],
  [/^(limits|requests)\.hugepages-/, sizes, 'hugepages'],
];

function* divisorFaults(field: string, resource: string, divisor: string): Faults {
  const quantity = tryParseQuantity(divisor);
  if (typeof quantity === 'string' || isZeroQuantity(quantity)) return;
  const rule = divisors.find(([pattern]) => pattern.test(resource));
  if (!rule || rule[1].includes(formatQuantity(quantity))) return;
  const [, values, kind] = rule;
  const listed = kind === 'cpu' ? values.join(' and ') : values.join(', ');
  yield invalid(
    `${field}.divisor`,
    resource,
    `only divisor's values ${listed} are supported with the ${kind} resource`,
  );
}

function* keySelector(
  field: string,
  { name = '', key = '' }: { readonly name?: string; readonly key?: string },
): Faults {
  yield* invalidEach(`${field}.name`, name, dns1123Subdomain(name));
  if (key === '') yield required(`${field}.key`);
  else yield* invalidEach(`${field}.key`, key, configMapKeyRule(key));
}

function* fileKeySelector(
  field: string,
  { volumeName = '', path = '', key = '' }: Partial<NonNullable<EnvSource['fileKeyRef']>>,
): Faults {
  if (key === '') yield required(`${field}.key`);
  else yield* invalidEach(`${field}.key`, key, envVarNameRule(key));
  if (volumeName === '') yield required(`${field}.volumeName`);
  else yield* label(`${field}.volumeName`, volumeName);
  if (path === '') yield required(`${field}.path`);
  else yield* noBacksteps(`${field}.path`, path);
}

/** Validates `envFrom`. */
export function* validateEnvFrom(field: string, sources: readonly EnvFrom[]): Faults {
  for (const [i, { prefix = '', configMapRef, secretRef }] of sources.entries()) {
    const at = `${field}[${i}]`;
    if (prefix !== '') yield* invalidEach(`${at}.prefix`, prefix, envVarNameRule(prefix));
    if (configMapRef) yield* objectName(`${at}.configMapRef.name`, configMapRef.name);
    if (secretRef) yield* objectName(`${at}.secretRef.name`, secretRef.name);
    if (!configMapRef && !secretRef)
      yield invalid(field, '', 'must specify one of: `configMapRef` or `secretRef`');
    else if (configMapRef && secretRef)
      yield invalid(field, '', 'may not have more than one field specified at a time');
  }
}

/** Validates the name of a referenced object. */
export function* objectName(field: string, name = ''): Faults {
  if (name === '') yield required(field);
  else yield* invalidEach(field, name, dns1123Subdomain(name));
}
