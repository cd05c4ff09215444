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
 * Returns which namespaces of the node a pod shares (`NamespacesForPod`, pkg/kubelet/kuberuntime/util).
 *
 * @throws {AgentError} `invalid_argument` when the pod's user namespace cannot be provided
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
 * Returns the security context of a sandbox; most members are set only for a pod with a security context.
 *
 * @param extraGroups groups that the pod's volumes require
 * @throws {AgentError} `invalid_argument` for an unknown `supplementalGroupsPolicy`, or a user namespace that cannot be provided
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

/** Inputs of a container's security context besides pod and spec. */
export interface SecurityInputs {
  /** Groups that the pod's volumes require. */
  readonly extraSupplementalGroups: readonly number[];
  /** The container whose processes an ephemeral container sees, unless it sees the pod's or the node's anyway. */
  readonly targetId?: string;
  /** The image's user; used when the spec has none. */
  readonly imageUser?: ImageUser;
  readonly users: PodUsers;
  readonly security: SecuritySettings;
}

/**
 * Returns the security context of a container; its own settings override the pod's.
 * Follows `determineEffectiveSecurityContext` (pkg/kubelet/kuberuntime).
 *
 * @throws {AgentError} `invalid_argument` for a localhost profile without a name, an unknown AppArmor type or `supplementalGroupsPolicy`,
 *   or a user namespace that cannot be provided
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

/** Returns the image's user where the spec has none. */
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
