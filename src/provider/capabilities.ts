import { isRestartableInitContainer } from '../kube/restart-policy.ts';
import type { Container, Pod } from '../kube/types.ts';

/** The kinds of probes. */
export type ProbeKind = 'httpGet' | 'tcpSocket' | 'grpc' | 'exec';

/**
 * PodCapabilities declares which pod features a provider supports. An absent member means full support. A pod that needs an unsupported
 * feature is rejected at admission with the name of each missing capability; it never runs without the feature.
 */
export interface PodCapabilities {
  readonly initContainers?: boolean;
  /** Restartable init containers (sidecars). */
  readonly sidecars?: boolean;
  readonly ephemeralContainers?: boolean;
  /** The maximum number of containers in one pod. */
  readonly maxContainers?: number;
  /** The supported kinds of volumes, with the API's names (`emptyDir`, `configMap` …); `false` for none. */
  readonly volumes?: readonly string[] | false;
  readonly restartPolicies?: readonly string[];
  /** The supported kinds of probes; `false` for none. */
  readonly probes?: readonly ProbeKind[] | false;
  readonly lifecycleHooks?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPorts?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly privileged?: boolean;
  readonly securityContext?: boolean;
  readonly runtimeClass?: boolean;
  readonly hostAliases?: boolean;
  readonly activeDeadlineSeconds?: boolean;
  readonly tty?: boolean;
  readonly stdin?: boolean;
}

/** The status reason of a pod that was rejected because its provider lacks a capability. */
export const unsupportedReason = 'UnsupportedByProvider';

/**
 * Lists the features that a pod needs and that `capabilities` exclude, such as `volume "data" of kind hostPath`.
 *
 * @example
 * const missing = missingCapabilities(pod, { probes: false }); // ['liveness probes']
 */
export function missingCapabilities(pod: Pod, capabilities: PodCapabilities): readonly string[] {
  return [
    ...missingOfPod(pod, capabilities),
    ...missingVolumes(pod, capabilities),
    ...missingOfContainers(pod, capabilities),
  ];
}

function missingOfPod({ spec }: Pod, able: PodCapabilities): readonly string[] {
  if (!spec) return [];
  const { initContainers = [], restartPolicy = 'Always' } = spec;
  const sidecars = initContainers.filter(isRestartableInitContainer);
  const features: readonly (readonly [
    isRequested: boolean,
    capability: boolean | undefined,
    name: string,
  ])[] = [
    [initContainers.length > sidecars.length, able.initContainers, 'init containers'],
    [sidecars.length > 0, able.sidecars, 'sidecar containers'],
    [(spec.ephemeralContainers ?? []).length > 0, able.ephemeralContainers, 'ephemeral containers'],
    [spec.hostNetwork === true, able.hostNetwork, 'hostNetwork'],
    [spec.hostPID === true, able.hostPID, 'hostPID'],
    [spec.hostIPC === true, able.hostIPC, 'hostIPC'],
    [
      spec.runtimeClassName !== undefined,
      able.runtimeClass,
      `runtime class "${spec.runtimeClassName ?? ''}"`,
    ],
    [(spec.hostAliases ?? []).length > 0, able.hostAliases, 'hostAliases'],
    [spec.activeDeadlineSeconds !== undefined, able.activeDeadlineSeconds, 'activeDeadlineSeconds'],
    [!isEmpty(spec.securityContext), able.securityContext, 'a security context of the pod'],
  ];
  const missing = features
    .filter(([isRequested, capability]) => isRequested && capability === false)
    .map(([, , name]) => name);
  if (able.restartPolicies && !able.restartPolicies.includes(restartPolicy))
    missing.push(`restartPolicy ${restartPolicy}`);
  if (able.maxContainers !== undefined && spec.containers.length > able.maxContainers)
    missing.push(`${spec.containers.length} containers (at most ${able.maxContainers})`);
  return missing;
}

function missingVolumes({ spec }: Pod, { volumes: kinds }: PodCapabilities): readonly string[] {
  if (kinds === undefined) return [];
  return (spec?.volumes ?? []).flatMap(({ name, ...sources }) => {
    const kind = Object.keys(sources)[0] ?? 'emptyDir';
    return kinds !== false && kinds.includes(kind) ? [] : [`volume "${name}" of kind ${kind}`];
  });
}

const missingOfContainers = ({ spec }: Pod, able: PodCapabilities): readonly string[] =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap((container) =>
    missingOfContainer(container, able).map((what) => `${what} of container "${container.name}"`),
  );

function missingOfContainer(container: Container, able: PodCapabilities): readonly string[] {
  const { securityContext, ports = [], lifecycle, tty, stdin } = container;
  const features: readonly (readonly [
    isRequested: boolean,
    capability: boolean | undefined,
    name: string,
  ])[] = [
    [!isEmpty(securityContext), able.securityContext, 'the security context'],
    [securityContext?.privileged === true, able.privileged, 'privileged mode'],
    [ports.some(({ hostPort }) => hostPort !== undefined && hostPort > 0), able.hostPorts, 'a host port'],
    [!isEmpty(lifecycle), able.lifecycleHooks, 'a lifecycle hook'],
    [tty === true, able.tty, 'a terminal'],
    [stdin === true, able.stdin, 'standard input'],
  ];
  return [
    ...features
      .filter(([isRequested, capability]) => isRequested && capability === false)
      .map(([, , name]) => name),
    ...missingProbes(container, able),
  ];
}

const probeKinds: readonly ProbeKind[] = ['httpGet', 'tcpSocket', 'grpc', 'exec'];

function missingProbes(container: Container, { probes: kinds }: PodCapabilities): readonly string[] {
  if (kinds === undefined) return [];
  return (['livenessProbe', 'readinessProbe', 'startupProbe'] as const).flatMap((name) => {
    const probe = container[name];
    const kind = probe && probeKinds.find((one) => probe[one] !== undefined);
    return kind === undefined || (kinds !== false && kinds.includes(kind)) ? [] : [`the ${name} by ${kind}`];
  });
}

const isEmpty = (value: object | undefined | null): boolean =>
  value == null || Object.values(value).every((one) => one === undefined);
