import { isRestartableInitContainer } from '../kube/restart-policy.ts';
import type { Container, Pod } from '../kube/types.ts';

/** The kinds of probes. */
export type ProbeKind = 'httpGet' | 'tcpSocket' | 'grpc' | 'exec';

/**
 * What pods may ask for. An absent member means everything of it. A pod that needs what is excluded is refused at admission, with each missing
 * capability by name, and never runs without it.
 */
export interface PodCapabilities {
  readonly initContainers?: boolean;
  /** Init containers that are restarted. */
  readonly sidecars?: boolean;
  readonly ephemeralContainers?: boolean;
  /** More containers than this in one pod are refused. */
  readonly maxContainers?: number;
  /** Kinds of volumes as the API names them (`emptyDir`, `configMap` …); `false`: none. */
  readonly volumes?: readonly string[] | false;
  readonly restartPolicies?: readonly string[];
  /** Kinds of probes; `false`: none. */
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

/** The reason of a pod that asks for what its provider does not have. */
export const unsupportedReason = 'UnsupportedByProvider';

/** What a pod asks for that `capabilities` exclude, one name each, such as `volume "data" of kind hostPath`; empty: nothing. */
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
  const asked: readonly (readonly [isAsked: boolean, capability: boolean | undefined, name: string])[] = [
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
  const missing = asked
    .filter(([isAsked, capability]) => isAsked && capability === false)
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
  const asked: readonly (readonly [isAsked: boolean, capability: boolean | undefined, name: string])[] = [
    [!isEmpty(securityContext), able.securityContext, 'the security context'],
    [securityContext?.privileged === true, able.privileged, 'privileged mode'],
    [ports.some(({ hostPort }) => hostPort !== undefined && hostPort > 0), able.hostPorts, 'a host port'],
    [!isEmpty(lifecycle), able.lifecycleHooks, 'a lifecycle hook'],
    [tty === true, able.tty, 'a terminal'],
    [stdin === true, able.stdin, 'standard input'],
  ];
  return [
    ...asked.filter(([isAsked, capability]) => isAsked && capability === false).map(([, , name]) => name),
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
