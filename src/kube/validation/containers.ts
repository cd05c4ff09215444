import type { Container, EphemeralContainer } from '../types.ts';
import {
  duplicate,
  type Faults,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  oneOf,
  required,
  tooMany,
} from './field-error.ts';
import { validateEnv, validateEnvFrom } from './environment.ts';
import { validateVolumeDevices, validateVolumeMounts } from './mounts.ts';
import type { PodContext } from './options.ts';
import { validatePorts, validateUniqueHostPorts } from './ports.ts';
import { validateLifecycle, validateProbes } from './probes.ts';
import { validateContainerResources } from './resource-rules.ts';
import { validateSecurityContext } from './security-context.ts';
import { label } from './shared.ts';

const restartPolicies = ['Always', 'Never', 'OnFailure'];
const mostRules = 20;
const mostExitCodes = 255;

/** Returns a container's name; empty in manifests without one. */
const nameOf = ({ name = '' }: Partial<Container | EphemeralContainer>): string => name;

/** Validates the regular containers of a pod. */
export function* validateContainers(field: string, context: PodContext): Faults {
  const containers = context.pod.spec?.containers ?? [];
  if (containers.length === 0) return yield required(field);
  const names = new Set<string>();
  for (const [i, container] of containers.entries()) {
    const at = `${field}[${i}]`;
    yield* common(at, container, context);
    const name = nameOf(container);
    if (names.has(name)) yield duplicate(`${at}.name`, name);
    names.add(name);
    yield* hooksAndProbes(at, container, context);
    yield* restartPolicy(at, container);
  }
  yield* validateUniqueHostPorts(field, containers);
}

/** Validates init containers: unique names; hooks and probes for sidecars only. */
export function* validateInitContainers(field: string, context: PodContext): Faults {
  const names = new Set((context.pod.spec?.containers ?? []).map(nameOf));
  for (const [i, container] of (context.pod.spec?.initContainers ?? []).entries()) {
    const at = `${field}[${i}]`;
    yield* common(at, container, context);
    yield* initRestartPolicy(at, container);
    const name = nameOf(container);
    if (names.has(name)) yield duplicate(`${at}.name`, name);
    else if (name !== '') names.add(name);
    yield* validateUniqueHostPorts(field, [container]);
    if (container.restartPolicy === 'Always') {
      yield* hooksAndProbes(at, container, context);
      continue;
    }
    yield* noHooksNorProbes(at, container);
    if (!context.options.restartingInitContainers) yield* noRestarts(at, container);
  }
}

function* hooksAndProbes(field: string, container: Container, { pod }: PodContext): Faults {
  const grace = pod.spec?.terminationGracePeriodSeconds;
  if (container.lifecycle)
    yield* validateLifecycle(`${field}.lifecycle`, container.lifecycle, grace, pod.spec?.os);
  yield* validateProbes(field, container);
}

function* noRestarts(field: string, container: Container): Faults {
  for (const [i, { restartPolicy: policy }] of (container.resizePolicy ?? []).entries())
    if (policy === 'RestartContainer')
      yield invalid(
        `${field}.resizePolicy[${i}].restartPolicy`,
        policy,
        "must not be set to 'RestartContainer' for non-sidecar initContainers",
      );
}

function* noHooksNorProbes(field: string, container: Container): Faults {
  for (const key of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const)
    if (container[key])
      yield forbidden(`${field}.${key}`, 'may not be set for init containers without restartPolicy=Always');
}

/** Validates restart rules; they are ignored without a policy. */
function* initRestartPolicy(field: string, container: Container): Faults {
  if (container.restartPolicy !== undefined) yield* restartPolicy(field, container);
  else if ((container.restartPolicyRules ?? []).length > 0) yield policyMissing(field);
}

const policyMissing = (field: string): FieldError =>
  required(`${field}.restartPolicy`, 'must specify restartPolicy when restart rules are used');

function* restartPolicy(field: string, container: Container): Faults {
  const { restartPolicy: policy, restartPolicyRules: rules = [] } = container;
  if (policy !== undefined) yield* oneOf(`${field}.restartPolicy`, policy, restartPolicies);
  if (rules.length === 0) return;
  if (policy === undefined) yield policyMissing(field);
  if (rules.length > mostRules) yield tooMany(`${field}.restartPolicyRules`, rules.length, mostRules);
  for (const [i, { action, exitCodes }] of rules.entries()) {
    const at = `${field}.restartPolicyRules[${i}]`;
    yield* oneOf(`${at}.action`, action, ['Restart', 'RestartAllContainers']);
    if (!exitCodes) {
      yield required(`${at}.exitCodes`, 'must be specified');
      continue;
    }
    yield* oneOf(`${at}.exitCodes.operator`, exitCodes.operator, ['In', 'NotIn']);
    const count = exitCodes.values?.length ?? 0;
    if (count > mostExitCodes) yield tooMany(`${at}.exitCodes.values`, count, mostExitCodes);
  }
}

const withoutEphemeral = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const;

/** True when a field is set as in Go: an empty list is, and so is a hook without members; `resources` always is. */
const isSet = (value: unknown, key: string): boolean =>
  key === 'resources' ? Object.keys(value ?? {}).length > 0 : value !== undefined;

/** Validates ephemeral containers, for which most fields are disallowed. */
export function* validateEphemeralContainers(field: string, context: PodContext): Faults {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = context.pod.spec ?? {};
  const targets = new Set([...containers, ...initContainers].map(nameOf));
  const names = new Set(targets);
  for (const [i, guest] of ephemeralContainers.entries()) {
    const at = `${field}[${i}]`;
    yield* common(at, guest, context);
    yield* imageSpaces(at, guest);
    const name = nameOf(guest);
    if (names.has(name)) yield duplicate(`${at}.name`, name);
    names.add(name);
    const target = guest.targetContainerName ?? '';
    if (target !== '' && !targets.has(target)) yield notFound(`${at}.targetContainerName`, target);
    yield* guestRights(at, guest);
  }
}

function* guestRights(field: string, guest: EphemeralContainer): Faults {
  const detail = 'cannot be set for an Ephemeral Container';
  for (const key of withoutEphemeral) if (isSet(guest[key], key)) yield forbidden(`${field}.${key}`, detail);
  for (const [i, mount] of (guest.volumeMounts ?? []).entries())
    for (const key of ['subPath', 'subPathExpr'] as const)
      if ((mount[key] ?? '') !== '') yield forbidden(`${field}.volumeMounts[${i}].${key}`, detail);
}

function* common(field: string, container: Container | EphemeralContainer, context: PodContext): Faults {
  const { name = '', image = '', terminationMessagePolicy = '' } = container as Partial<Container>;
  if (name === '') yield required(`${field}.name`);
  else yield* label(`${field}.name`, name);
  if (image === '') yield required(`${field}.image`);
  if (terminationMessagePolicy === '') yield required(`${field}.terminationMessagePolicy`);
  else
    yield* oneOf(`${field}.terminationMessagePolicy`, terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]);
  yield* validatePorts(`${field}.ports`, container.ports ?? []);
  yield* validateEnv(`${field}.env`, container.env ?? []);
  yield* validateEnvFrom(`${field}.envFrom`, container.envFrom ?? []);
  yield* validateVolumeMounts(`${field}.volumeMounts`, container, context);
  yield* validateVolumeDevices(`${field}.volumeDevices`, container, context);
  yield* pullPolicy(`${field}.imagePullPolicy`, container.imagePullPolicy);
  yield* validateContainerResources(`${field}.resources`, container.resources ?? {}, context);
  yield* resizePolicy(`${field}.resizePolicy`, container, context);
  if (container.securityContext)
    yield* validateSecurityContext(`${field}.securityContext`, container.securityContext, context);
}

/** Validates an image pull policy. */
export function* pullPolicy(field: string, policy: string | undefined): Faults {
  if ((policy ?? '') === '') yield required(field);
  else yield* oneOf(field, policy, ['Always', 'IfNotPresent', 'Never']);
}

function* resizePolicy(field: string, container: Container, { pod }: PodContext): Faults {
  const seen = new Set<string>();
  for (const [i, entry] of (container.resizePolicy ?? []).entries()) {
    const { resourceName = '', restartPolicy: policy = '' } = entry as Partial<typeof entry>;
    if (seen.has(resourceName)) yield duplicate(`${field}[${i}]`, resourceName);
    seen.add(resourceName);
    if (resourceName === '') yield required(field);
    else yield* oneOf(field, resourceName, ['cpu', 'memory']);
    if (policy === '') yield required(field);
    else yield* oneOf(field, policy, ['NotRequired', 'RestartContainer']);
    if (pod.spec?.restartPolicy === 'Never' && policy !== 'NotRequired')
      yield invalid(field, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
  }
}

/** Rejects leading and trailing spaces in images of pods (not of templates). */
export function* imageSpaces(field: string, { image = '' }: { readonly image?: string }): Faults {
  if (image.trim() !== image)
    yield invalid(`${field}.image`, image, 'must not have leading or trailing whitespace');
}
