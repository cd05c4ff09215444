import type { Container, Pod } from '../types.ts';
import {
  duplicate,
  type Faults,
  forbidden,
  invalid,
  oneOf,
  required,
  tooLong,
  unsupported,
} from './field-error.ts';
import { internalForm } from './internal-spec.ts';
import type { PodContext } from './options.ts';
import { descendingPath, posixId } from './shared.ts';
import { validateWindowsOptions } from './windows.ts';

type SecurityContext = NonNullable<Container['securityContext']>;
type PodSecurityContext = NonNullable<NonNullable<Pod['spec']>['securityContext']>;
type Profile = { readonly type?: string; readonly localhostProfile?: string };

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];

/** Validates the security context of one container. */
export function* validateSecurityContext(
  field: string,
  security: SecurityContext,
  context: PodContext,
): Faults {
  if ((security.privileged ?? false) && context.options.allowPrivileged === false)
    yield forbidden(`${field}.privileged`, 'disallowed by cluster policy');
  yield* posixId(`${field}.runAsUser`, security.runAsUser);
  yield* posixId(`${field}.runAsGroup`, security.runAsGroup);
  if (security.procMount !== undefined) yield* procMount(`${field}.procMount`, security.procMount, context);
  yield* seccompProfile(`${field}.seccompProfile`, security.seccompProfile);
  yield* escalation(field, security);
  yield* validateWindowsOptions(`${field}.windowsOptions`, security.windowsOptions);
  yield* appArmorProfile(`${field}.appArmorProfile`, security.appArmorProfile);
}

function* procMount(field: string, mode: string, context: PodContext): Faults {
  yield* oneOf(field, mode, ['Default', 'Unmasked']);
  if (mode === 'Unmasked' && (context.pod.spec?.hostUsers ?? true))
    yield invalid(field, mode, '`hostUsers` must be false to use `Unmasked`');
}

function* escalation(field: string, security: SecurityContext): Faults {
  if (security.allowPrivilegeEscalation !== false) return;
  if (security.privileged ?? false)
    yield invalid(
      field,
      internalSecurityContext(security),
      'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    );
  for (const capability of security.capabilities?.add ?? [])
    if (capability === 'CAP_SYS_ADMIN')
      yield invalid(
        field,
        internalSecurityContext(security),
        'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
      );
}

/** Returns the internal form of a security context for messages. */
const internalSecurityContext = (security: SecurityContext): unknown => internalForm('Security', security);

const internalProfile = (profile: Profile | undefined): unknown =>
  profile && { Type: profile.type ?? '', LocalhostProfile: profile.localhostProfile ?? null };

function* seccompProfile(field: string, profile: Profile | undefined): Faults {
  if (!profile) return;
  const { type = '', localhostProfile } = profile;
  if (type === '') yield required(`${field}.type`, 'type is required when seccompProfile is set');
  else yield* oneOf(`${field}.type`, type, profileTypes);
  if (type !== 'Localhost') {
    if (localhostProfile !== undefined)
      yield invalid(
        `${field}.localhostProfile`,
        internalProfile(profile),
        'can only be set when seccomp type is Localhost',
      );
  } else if (localhostProfile === undefined)
    yield required(`${field}.localhostProfile`, 'must be set when seccomp type is Localhost');
  else yield* descendingPath(`${field}.localhostProfile`, localhostProfile);
}

const longestProfile = 4095;

function* appArmorProfile(field: string, profile: Profile | undefined): Faults {
  if (!profile) return;
  const { type = '', localhostProfile } = profile;
  if (type === 'Localhost') yield* appArmorLocalhost(`${field}.localhostProfile`, localhostProfile);
  else if (type === '') yield required(`${field}.type`, 'type is required when appArmorProfile is set');
  else if (!profileTypes.includes(type)) yield unsupported(`${field}.type`, type, profileTypes);
  else if (localhostProfile !== undefined)
    yield invalid(
      `${field}.localhostProfile`,
      localhostProfile,
      'can only be set when AppArmor type is Localhost',
    );
}

function* appArmorLocalhost(field: string, profile = ''): Faults {
  if (profile.trim() !== profile) yield invalid(field, profile, 'must not be padded with whitespace');
  else if (profile === '') yield required(field, 'must be set when AppArmor type is Localhost');
  if (Buffer.byteLength(profile) > longestProfile) yield tooLong(field, longestProfile);
}

/** Validates the security context of a pod. */
export function* validatePodSecurityContext(field: string, pod: Pod): Faults {
  const security: PodSecurityContext = pod.spec?.securityContext ?? {};
  yield* posixId(`${field}.fsGroup`, security.fsGroup);
  yield* posixId(`${field}.runAsUser`, security.runAsUser);
  yield* posixId(`${field}.runAsGroup`, security.runAsGroup);
  for (const [i, group] of (security.supplementalGroups ?? []).entries())
    yield* posixId(`${field}.supplementalGroups[${i}]`, group);
  if ((pod.spec?.shareProcessNamespace ?? false) && (pod.spec?.hostPID ?? false))
    yield invalid(
      `${field}.shareProcessNamespace`,
      true,
      'ShareProcessNamespace and HostPID cannot both be enabled',
    );
  yield* sysctls(`${field}.sysctls`, pod);
  yield* podProfiles(field, security);
}

function* podProfiles(field: string, security: PodSecurityContext): Faults {
  if (security.fsGroupChangePolicy !== undefined)
    yield* oneOf(`${field}.fsGroupChangePolicy`, security.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  yield* seccompProfile(`${field}.seccompProfile`, security.seccompProfile);
  yield* validateWindowsOptions(`${field}.windowsOptions`, security.windowsOptions);
  yield* appArmorProfile(`${field}.appArmorProfile`, security.appArmorProfile);
  if (security.supplementalGroupsPolicy !== undefined)
    yield* oneOf(`${field}.supplementalGroupsPolicy`, security.supplementalGroupsPolicy, ['Merge', 'Strict']);
  if (security.seLinuxChangePolicy !== undefined)
    yield* oneOf(`${field}.seLinuxChangePolicy`, security.seLinuxChangePolicy, ['Recursive']);
}

const sysctlName = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const sysctlPattern = new RegExp(sysctlName);
const longestSysctl = 253;

function* sysctls(field: string, pod: Pod): Faults {
  const names = new Set<string>();
  for (const [i, sysctl] of (pod.spec?.securityContext?.sysctls ?? []).entries()) {
    const at = `${field}[${i}].name`;
    const name = (sysctl as { readonly name?: string }).name ?? '';
    if (name === '') yield required(at);
    else if (name.length > longestSysctl || !sysctlPattern.test(name))
      yield invalid(at, name, `must have at most ${longestSysctl} characters and match regex ${sysctlName}`);
    else if (names.has(name)) yield duplicate(at, name);
    names.add(name);
    yield* hostSysctl(at, name, pod);
  }
}

/** Rejects sysctls of a namespace that the pod shares with the host. */
function* hostSysctl(field: string, name: string, pod: Pod): Faults {
  const dotted = name.replaceAll('/', '.');
  if ((pod.spec?.hostNetwork ?? false) && dotted.startsWith('net.'))
    yield invalid(field, name, "may not be specified when 'hostNetwork' is true");
  if ((pod.spec?.hostIPC ?? false) && /^(kernel\.(shm|msg|sem)|fs\.mqueue\.)/.test(dotted))
    yield invalid(field, name, "may not be specified when 'hostIPC' is true");
}
