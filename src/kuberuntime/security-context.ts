import type { Container, Pod } from '../kube/types.ts';
import {
  type Int64Value,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  NamespaceMode,
  type NamespaceOption,
  SecurityProfileProfileType,
} from '../provider/cri-messages.ts';

/** Which of the node's namespaces a pod shares (`NamespacesForPod`, pkg/kubelet/kuberuntime/util). */
export function namespacesForPod({ spec }: Pod): NamespaceOption {
  const shared = spec?.shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
  return {
    network: spec?.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: spec?.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: spec?.hostPID ? NamespaceMode.NODE : shared,
  };
}

/** The security context of a sandbox; namespaces and user are set only for a pod that has a security context itself. */
export function sandboxSecurityContext(
  pod: Pod,
  extraGroups: readonly number[],
): LinuxSandboxSecurityContext {
  const context = pod.spec?.securityContext;
  const supplementalGroups = [
    ...defined(context?.fsGroup),
    ...extraGroups,
    ...(context?.supplementalGroups ?? []),
  ];
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  return {
    privileged: containers.some(({ securityContext }) => securityContext?.privileged === true),
    seccomp: { profileType: SecurityProfileProfileType.RuntimeDefault },
    ...(context && { namespaceOptions: namespacesForPod(pod), ...userOf(context) }),
    ...(supplementalGroups.length > 0 && { supplementalGroups }),
  };
}

/**
 * The security context of a container: its own settings before the pod's.
 *
 * @param targetId the container whose processes it is to see
 */
export function containerSecurityContext(
  container: Container,
  pod: Pod,
  extraGroups: readonly number[],
  targetId: string | undefined,
): LinuxContainerSecurityContext {
  const own = container.securityContext ?? {};
  const whole = pod.spec?.securityContext;
  const supplementalGroups = [
    ...defined(whole?.fsGroup),
    ...(whole?.supplementalGroups ?? []),
    ...extraGroups,
  ];
  const namespaces = namespacesForPod(pod);
  return {
    namespaceOptions:
      targetId === undefined ? namespaces : { ...namespaces, pid: NamespaceMode.TARGET, targetId },
    privileged: own.privileged ?? false,
    readonlyRootfs: own.readOnlyRootFilesystem ?? false,
    noNewPrivs: own.allowPrivilegeEscalation === false,
    ...capabilitiesOf(own),
    ...userOf({ ...whole, ...own }),
    ...(supplementalGroups.length > 0 && { supplementalGroups }),
  };
}

const defined = (value: number | undefined): readonly number[] => (value === undefined ? [] : [value]);

interface User {
  readonly runAsUser?: Int64Value;
  readonly runAsGroup?: Int64Value;
}

const userOf = (context: { readonly runAsUser?: number; readonly runAsGroup?: number }): User => ({
  ...(context.runAsUser !== undefined && { runAsUser: { value: context.runAsUser } }),
  ...(context.runAsGroup !== undefined && { runAsGroup: { value: context.runAsGroup } }),
});

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
