import { resolvePort } from '../../kube/container-port.ts';
import type { Container, Probe } from '../../kube/types.ts';
import type { EciParameters, EciValue } from './api.ts';
import { containerSize } from './sizes.ts';

/** A variable of a container: a value, or one of the two fields that only the service knows when the group starts. */
export interface EciVariable {
  readonly name: string;
  readonly value: string;
  /** `status.podIP` or `status.hostIP`: the service fills it in. */
  readonly field?: string;
}

type Handler = NonNullable<NonNullable<Container['lifecycle']>['postStart']>;

/** containerParameters is a regular container as a parameter of `CreateContainerGroup`. */
export const containerParameters = (container: Container, env: readonly EciVariable[]): EciParameters => ({
  ...initContainerParameters(container, env),
  Stdin: container.stdin,
  StdinOnce: container.stdinOnce,
  Tty: container.tty,
  LivenessProbe: probe(container.livenessProbe, container),
  ReadinessProbe: probe(container.readinessProbe, container),
  ...hook('LifecyclePostStartHandler', container.lifecycle?.postStart, container),
  ...hook('LifecyclePreStopHandler', container.lifecycle?.preStop, container),
  SecurityContextRunAsGroup: container.securityContext?.runAsGroup,
  SecurityContextRunAsNonRoot: container.securityContext?.runAsNonRoot,
});

/** initContainerParameters is an init container as a parameter of `CreateContainerGroup`. Command and arguments stay apart (E5). */
export function initContainerParameters(container: Container, env: readonly EciVariable[]): EciParameters {
  const { securityContext } = container;
  const size = containerSize(container);
  return {
    Name: container.name,
    Image: container.image,
    Command: nonEmpty(container.command),
    Arg: nonEmpty(container.args),
    WorkingDir: container.workingDir,
    ImagePullPolicy: container.imagePullPolicy,
    TerminationMessagePath: container.terminationMessagePath,
    TerminationMessagePolicy: container.terminationMessagePolicy,
    Cpu: size.cpu,
    Memory: size.memory,
    Gpu: size.gpu,
    EnvironmentVar: nonEmpty(
      env.map(({ name, value, field }) =>
        field === undefined ? { Key: name, Value: value } : { Key: name, FieldRef: { FieldPath: field } },
      ),
    ),
    Port: nonEmpty(
      (container.ports ?? []).map(({ containerPort, protocol = 'TCP' }) => ({
        Port: containerPort,
        Protocol: protocol,
      })),
    ),
    VolumeMount: nonEmpty(
      (container.volumeMounts ?? []).map(({ name, mountPath, readOnly, subPath, mountPropagation }) => ({
        Name: name,
        MountPath: mountPath,
        ReadOnly: readOnly,
        SubPath: subPath,
        MountPropagation: mountPropagation,
      })),
    ),
    ...(securityContext && {
      SecurityContext: {
        RunAsUser: securityContext.runAsUser,
        ReadOnlyRootFilesystem: securityContext.readOnlyRootFilesystem,
        Capability: securityContext.capabilities?.add && { Add: securityContext.capabilities.add },
      },
    }),
  };
}

const nonEmpty = (items: readonly EciValue[] | undefined): readonly EciValue[] | undefined =>
  items !== undefined && items.length > 0 ? items : undefined;

function probe(of: Probe | undefined, { ports }: Container): EciValue {
  if (!of) return undefined;
  const { exec, httpGet, tcpSocket } = of;
  return {
    Exec: exec && { Command: exec.command ?? [] },
    HttpGet: httpGet && {
      Path: httpGet.path ?? '/',
      Port: resolvePort(httpGet.port, ports),
      Scheme: httpGet.scheme ?? 'HTTP',
    },
    TcpSocket: tcpSocket && { Port: resolvePort(tcpSocket.port, ports) },
    InitialDelaySeconds: of.initialDelaySeconds,
    PeriodSeconds: of.periodSeconds,
    TimeoutSeconds: of.timeoutSeconds,
    SuccessThreshold: of.successThreshold,
    FailureThreshold: of.failureThreshold,
  };
}

function hook(prefix: string, handler: Handler | undefined, { ports }: Container): EciParameters {
  if (!handler) return {};
  const { exec, httpGet, tcpSocket } = handler;
  return {
    [`${prefix}Exec`]: exec && (exec.command ?? []),
    ...(httpGet && {
      [`${prefix}HttpGetHost`]: httpGet.host,
      [`${prefix}HttpGetPath`]: httpGet.path ?? '/',
      [`${prefix}HttpGetPort`]: resolvePort(httpGet.port, ports),
      [`${prefix}HttpGetScheme`]: httpGet.scheme ?? 'HTTP',
      [`${prefix}HttpGetHttpHeader`]: nonEmpty(
        (httpGet.httpHeaders ?? []).map(({ name, value }) => ({ Name: name, Value: value })),
      ),
    }),
    ...(tcpSocket && {
      [`${prefix}TcpSocketHost`]: tcpSocket.host,
      [`${prefix}TcpSocketPort`]: resolvePort(tcpSocket.port, ports),
    }),
  };
}
