import { tableOf } from '../../../base/own.ts';
import { AgentError } from '../../../base/errors.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import {
  type Int64Value,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  NamespaceMode,
  type NamespaceOption,
  type SELinuxOption,
  SecurityProfileProfileType,
  SupplementalGroupsPolicy,
} from '../../../provider/cri-messages.ts';
import type { ImageUser } from '../../images/image-user.ts';
import { appArmorOf, procPathsOf, seccompOf, type SecuritySettings } from './security-profiles.ts';
import { type PodUsers, userNamespaceOf } from './user-namespace.ts';

/**
 * Which of the node's namespaces a pod shares (`NamespacesForPod`, pkg/kubelet/kuberuntime/util).
 *
 * @throws {AgentError} `invalid_argument` when the pod cannot have users of its own
 */
export function namespacesForPod(pod: Pod, users: PodUsers): NamespaceOption {
  const { spec } = pod;
  const userNamespace = userNamespaceOf(pod, users);
  const shared = spec?.shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
  return {
    network: spec?.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: spec?.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: spec?.hostPID ? NamespaceMode.NODE : shared,
    ...(userNamespace && { usernsOptions: userNamespace }),
  };
}

/**
 * The security context of a sandbox; all but two settings are there only for a pod that has a security context itself.
 *
 * @param extraGroups groups that the pod's volumes ask for
 * @throws {AgentError} `invalid_argument` for an unknown `supplementalGroupsPolicy`, and users of its own that the pod cannot have
 */
export function sandboxSecurityContext(
  pod: Pod,
  extraGroups: readonly number[],
  users: PodUsers,
): LinuxSandboxSecurityContext {
  const context = pod.spec?.securityContext;
  return {
    privileged: hasPrivilegedContainer(pod),
    seccomp: { profileType: SecurityProfileProfileType.RuntimeDefault },
    ...(context && {
      namespaceOptions: namespacesForPod(pod, users),
      ...userOf(context),
      ...seLinuxOf(context),
      ...groupsOf([...defined(context.fsGroup), ...extraGroups, ...(context.supplementalGroups ?? [])]),
      ...groupsPolicyOf(context.supplementalGroupsPolicy),
    }),
  };
}

/** What the security context of a container is made of besides pod and spec. */
export interface SecurityInputs {
  /** Groups that the pod's volumes ask for. */
  readonly extraSupplementalGroups: readonly number[];
  /** The container whose processes it is to see, where it does not see the pod's or the node's anyway. */
  readonly targetId?: string;
  /** The user that the image runs as; counts where the spec names none. */
  readonly imageUser?: ImageUser;
  readonly users: PodUsers;
  readonly security: SecuritySettings;
}

/**
 * The security context of a container: its own settings before the pod's.
 * Follows `determineEffectiveSecurityContext` (pkg/kubelet/kuberuntime).
 *
 * @throws {AgentError} `invalid_argument` for a local profile without a name, an unknown AppArmor type or `supplementalGroupsPolicy`, and users
 *   of its own that the pod cannot have
 */
export function containerSecurityContext(
  container: Container,
  pod: Pod,
  inputs: SecurityInputs,
): LinuxContainerSecurityContext {
  const own = container.securityContext ?? {};
  const whole = pod.spec?.securityContext;
  const seccomp = seccompOf(own, whole, inputs.security);
  return {
    ...capabilitiesOf(own),
    ...seLinuxOf({ ...whole, ...own }),
    ...containerUserOf({ ...whole, ...own }, inputs.imageUser ?? {}),
    privileged: own.privileged ?? false,
    readonlyRootfs: own.readOnlyRootFilesystem ?? false,
    noNewPrivs: own.allowPrivilegeEscalation === false,
    seccomp,
    ...appArmorOf(pod, container),
    ...procPathsOf(own),
    namespaceOptions: containerNamespaces(pod, inputs),
    ...groupsOf([
      ...defined(whole?.fsGroup),
      ...(whole?.supplementalGroups ?? []),
      ...inputs.extraSupplementalGroups,
    ]),
    ...groupsPolicyOf(whole?.supplementalGroupsPolicy),
  };
}

function hasPrivilegedContainer({ spec }: Pod): boolean {
  const lists = [spec?.initContainers, spec?.containers, spec?.ephemeralContainers];
  return lists.some((list) => list?.some(({ securityContext }) => securityContext?.privileged === true));
}

function containerNamespaces(pod: Pod, { targetId, users }: SecurityInputs): NamespaceOption {
  const namespaces = namespacesForPod(pod, users);
  const isolated = namespaces.pid === NamespaceMode.CONTAINER;
  return targetId === undefined || !isolated
    ? namespaces
    : { ...namespaces, pid: NamespaceMode.TARGET, targetId };
}

const defined = (value: number | undefined): readonly number[] => (value === undefined ? [] : [value]);

interface User {
  readonly runAsUser?: Int64Value;
  readonly runAsGroup?: Int64Value;
  readonly runAsUsername?: string;
}

interface UserFields {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
}

const userOf = ({ runAsUser, runAsGroup }: UserFields): User => ({
  ...(runAsUser !== undefined && { runAsUser: { value: runAsUser } }),
  ...(runAsGroup !== undefined && { runAsGroup: { value: runAsGroup } }),
});

/** The image's user where the spec names none. */
const containerUserOf = (context: UserFields, { uid, username }: ImageUser): User => ({
  ...(context.runAsUser === undefined && {
    ...(uid !== undefined && { runAsUser: { value: uid } }),
    ...(username !== undefined && { runAsUsername: username }),
  }),
  ...userOf(context),
});

const groupsOf = (groups: readonly number[]): { readonly supplementalGroups?: readonly number[] } =>
  groups.length > 0 ? { supplementalGroups: groups } : {};

const policies: Readonly<Record<string, SupplementalGroupsPolicy>> = tableOf(SupplementalGroupsPolicy);

function groupsPolicyOf(name: string | undefined): {
  readonly supplementalGroupsPolicy?: SupplementalGroupsPolicy;
} {
  if (name === undefined) return {};
  const supplementalGroupsPolicy = policies[name];
  if (supplementalGroupsPolicy !== undefined) return { supplementalGroupsPolicy };
  throw new AgentError('invalid_argument', `unsupported supplementalGroupsPolicy: ${name}`);
}

const seLinuxOf = ({
  seLinuxOptions,
}: {
  readonly seLinuxOptions?: SELinuxOption;
}): {
  readonly selinuxOptions?: SELinuxOption;
} => (seLinuxOptions ? { selinuxOptions: seLinuxOptions } : {});

const capabilitiesOf = ({
  capabilities,
}: NonNullable<Container['securityContext']>): Pick<LinuxContainerSecurityContext, 'capabilities'> =>
  capabilities
    ? {
        capabilities: {
          addCapabilities: capabilities.add ?? [],
          dropCapabilities: capabilities.drop ?? [],
        },
      }
    : {};
