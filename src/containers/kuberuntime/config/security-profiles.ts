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

/** Node settings that determine the security of containers. */
export interface SecuritySettings {
  /** Containers without a seccomp profile get the runtime's default (kubelet `seccompDefault`); default: they get none. */
  readonly seccompDefault?: boolean;
  /** Directory of seccomp `localhostProfile`s; the kubelet's default is below its root directory. */
  readonly seccompProfileRoot?: string;
  /** True when the host labels files with SELinux; default: false, so no mount is relabelled. */
  readonly selinuxEnabled?: boolean;
}

type ContainerContext = NonNullable<Container['securityContext']>;
type PodContext = NonNullable<NonNullable<Pod['spec']>['securityContext']>;
type ProfileFields = Pick<LinuxContainerSecurityContext, 'apparmor' | 'apparmorProfile'>;

const { RuntimeDefault, Unconfined, Localhost } = SecurityProfileProfileType;
const defaultSeccompRoot = '/var/lib/kubelet/seccomp';

/**
 * Returns the seccomp profile of a container: its own, otherwise the pod's, otherwise the node's default.
 * Follows `getSeccompProfile` (pkg/kubelet/kuberuntime).
 *
 * @throws {AgentError} `invalid_argument` when a localhost profile has no name
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
 * Returns the AppArmor profile of a container: its own, otherwise that of the pod's deprecated annotation, otherwise the pod's; in CRI's
 * current and deprecated fields. Follows `apparmor.GetProfile`.
 *
 * @throws {AgentError} `invalid_argument` when a localhost profile has no name, or the type is unknown
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

/** Returns the masked and read-only paths of `/proc` and `/sys`; none with `procMount: Unmasked`. */
export const procPathsOf = (
  context: ContainerContext | undefined,
): Pick<LinuxContainerSecurityContext, 'maskedPaths' | 'readonlyPaths'> =>
  context?.procMount === 'Unmasked' ? {} : { maskedPaths, readonlyPaths };
