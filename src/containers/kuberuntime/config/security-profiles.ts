import { join } from 'node:path';
import { AgentError } from '../../../base/errors.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { annotationOf, appArmorAnnotation } from '../../../kube/names.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import {
  type LinuxContainerSecurityContext,
  type SecurityProfile,
  SecurityProfileProfileType,
} from '../../../provider/cri-messages.ts';

/** What of the node the security of a container depends on. */
export interface SecuritySettings {
  /** Containers that name no seccomp profile have the runtime's (kubelet `seccompDefault`); default: they have none. */
  readonly seccompDefault?: boolean;
  /** Where `localhostProfile`s of seccomp are; the kubelet's default is below its own root. */
  readonly seccompProfileRoot?: string;
  /** Whether the host labels files with SELinux; default: no, so no mount is relabelled. */
  readonly selinuxEnabled?: boolean;
}

type ContainerContext = NonNullable<Container['securityContext']>;
type PodContext = NonNullable<NonNullable<Pod['spec']>['securityContext']>;
type ProfileFields = Pick<LinuxContainerSecurityContext, 'apparmor' | 'apparmorProfile'>;

const { RuntimeDefault, Unconfined, Localhost } = SecurityProfileProfileType;
const defaultSeccompRoot = '/var/lib/kubelet/seccomp';

/**
 * The seccomp profile of a container: its own, else the pod's, else the node's default.
 * Follows `getSeccompProfile` (pkg/kubelet/kuberuntime).
 *
 * @throws {AgentError} `invalid_argument` when a local profile has no name
 */
export function seccompOf(
  container: ContainerContext | undefined,
  pod: PodContext | undefined,
  { seccompDefault = false, seccompProfileRoot = defaultSeccompRoot }: SecuritySettings,
): SecurityProfile {
  const profile = container?.seccompProfile ?? pod?.seccompProfile;
  if (!profile) return { profileType: seccompDefault ? RuntimeDefault : Unconfined };
  if (profile.type === 'RuntimeDefault') return { profileType: RuntimeDefault };
  if (profile.type !== 'Localhost') return { profileType: Unconfined };
  if (profile.localhostProfile)
    return { profileType: Localhost, localhostRef: join(seccompProfileRoot, profile.localhostProfile) };
  throw new AgentError(
    'invalid_argument',
    'localhostProfile must be set if seccompProfile type is Localhost.',
  );
}

const localhostPrefix = 'localhost/';

/**
 * The AppArmor profile of a container: its own, else that of the pod's old annotation, else the pod's; as runtimes know it today and as
 * they did before. Follows `apparmor.GetProfile`.
 *
 * @throws {AgentError} `invalid_argument` when a local profile has no name, or the type is unknown
 */
export function appArmorOf(pod: Pod, container: Container): ProfileFields {
  const profile =
    container.securityContext?.appArmorProfile ??
    annotatedProfile(annotationOf(pod, `${appArmorAnnotation}${container.name}`)) ??
    pod.spec?.securityContext?.appArmorProfile;
  if (!profile) return {};
  switch (profile.type) {
    case 'RuntimeDefault':
      return { apparmor: { profileType: RuntimeDefault }, apparmorProfile: 'runtime/default' };
    case 'Unconfined':
      return { apparmor: { profileType: Unconfined }, apparmorProfile: 'unconfined' };
    case 'Localhost': {
      const localhostRef = profile.localhostProfile;
      if (localhostRef === undefined)
        throw new AgentError('invalid_argument', 'missing localhost apparmor profile name');
      return {
        apparmor: { profileType: Localhost, localhostRef },
        apparmorProfile: `${localhostPrefix}${localhostRef}`,
      };
    }
    default:
      throw new AgentError('invalid_argument', `unknown apparmor profile type: ${goQuote(profile.type)}`);
  }
}

type AppArmorProfile = NonNullable<ContainerContext['appArmorProfile']>;

function annotatedProfile(text = ''): AppArmorProfile | undefined {
  if (text === 'runtime/default') return { type: 'RuntimeDefault' };
  if (text === 'unconfined') return { type: 'Unconfined' };
  return text.startsWith(localhostPrefix)
    ? { type: 'Localhost', localhostProfile: text.slice(localhostPrefix.length) }
    : undefined;
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
] as const;

const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'] as const;

/** What of the kernel's own files a container does not see or may not write: nothing is hidden with `procMount: Unmasked`. */
export const procPathsOf = (
  context: ContainerContext | undefined,
): Pick<LinuxContainerSecurityContext, 'maskedPaths' | 'readonlyPaths'> =>
  context?.procMount === 'Unmasked' ? {} : { maskedPaths, readonlyPaths };
