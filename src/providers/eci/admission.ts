import type { Container, Pod, Probe, Volume } from '../../kube/types.ts';
import type { ProviderAdmission } from '../../provider/powers.ts';
import { groupSize, legalSize } from './sizes.ts';

/** The `status.reason` of a pod that asks for what container groups cannot give. */
export const unsupportedReason = 'UnsupportedByECI';

type Fault = readonly [isRequested: boolean, what: string];

/**
 * admitEciPod refuses pods that need what a container group lacks, and names all of it at once; nothing is silently dropped.
 */
export function admitEciPod(pod: Pod): ProviderAdmission {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const faults = [
    ...messagesOf(podFaults(pod)),
    ...initContainers.flatMap((one) => messagesOf(initFaults(one))),
    ...[...initContainers, ...containers].flatMap((one) => messagesOf(containerFaults(one))),
    ...(pod.spec?.volumes ?? []).flatMap(volumeFault),
    ...sizeFault(pod),
  ];
  if (faults.length > 0) return { admit: false, reason: unsupportedReason, message: faults.join('; ') };
  return { admit: true };
}

const messagesOf = (faults: readonly Fault[]): string[] =>
  faults.filter(([is]) => is).map(([, what]) => what);

const daemonSetOf = ({ metadata }: Pod): string | undefined =>
  metadata?.ownerReferences?.find(({ controller, kind }) => controller === true && kind === 'DaemonSet')
    ?.name;

const isTrue = (value: boolean | undefined): boolean => value === true;
const isAny = (list: readonly unknown[] | undefined): boolean => list !== undefined && list.length > 0;

function podFaults(pod: Pod): readonly Fault[] {
  const spec = pod.spec ?? { containers: [] };
  const daemonSet = daemonSetOf(pod);
  return [
    [
      daemonSet !== undefined,
      `the pod belongs to DaemonSet ${daemonSet ?? ''}: there is no machine here to run one pod each on`,
    ],
    [isTrue(spec.hostNetwork), 'spec.hostNetwork: a group has a network of its own'],
    [isTrue(spec.hostPID), 'spec.hostPID: there is no host'],
    [isTrue(spec.hostIPC), 'spec.hostIPC: there is no host'],
    [spec.hostUsers === false, 'spec.hostUsers=false: there are no user namespaces'],
    [spec.os?.name === 'windows', 'spec.os.name=windows: the node runs Linux'],
    [isAny(spec.resourceClaims), 'spec.resourceClaims: there are no devices to claim'],
    [isAny(spec.ephemeralContainers), 'spec.ephemeralContainers: containers cannot be added to a group'],
    [spec.runtimeClassName !== undefined, 'spec.runtimeClassName: there are no runtime classes'],
  ];
}

const initFaults = ({
  name,
  restartPolicy,
  lifecycle,
  livenessProbe,
  readinessProbe,
}: Container): readonly Fault[] => [
  [restartPolicy !== undefined, `initContainers{${name}}.restartPolicy: there are no sidecar containers`],
  [lifecycle !== undefined, `initContainers{${name}}.lifecycle: init containers have no hooks`],
  [
    livenessProbe !== undefined || readinessProbe !== undefined,
    `initContainers{${name}}: init containers have no probes`,
  ],
];

const containerFaults = (container: Container): readonly Fault[] => [
  ...probeFaults(container),
  ...otherFaults(container),
];

function probeFaults({ name, startupProbe, livenessProbe, readinessProbe }: Container): readonly Fault[] {
  const at = `containers{${name}}`;
  const exec = 'the service probes by exec, httpGet and tcpSocket';
  return [
    [
      startupProbe !== undefined,
      `${at}.startupProbe: the service knows liveness and readiness probes only; a longer initialDelaySeconds of the liveness probe is the way`,
    ],
    [livenessProbe?.grpc !== undefined, `${at}.livenessProbe.grpc: ${exec}`],
    [readinessProbe?.grpc !== undefined, `${at}.readinessProbe.grpc: ${exec}`],
    [
      hasOwnTarget(livenessProbe) || hasOwnTarget(readinessProbe),
      `${at}: probes with a host or headers of their own are not supported`,
    ],
  ];
}

function otherFaults({
  name,
  securityContext,
  ports,
  lifecycle,
  volumeDevices,
  env,
}: Container): readonly Fault[] {
  const at = `containers{${name}}`;
  const hooks = [lifecycle?.postStart, lifecycle?.preStop];
  return [
    [isTrue(securityContext?.privileged), `${at}.securityContext.privileged: groups are never privileged`],
    [
      isAny(securityContext?.capabilities?.drop),
      `${at}.securityContext.capabilities.drop: capabilities can be added only`,
    ],
    [isAny(ports?.filter(({ hostPort = 0 }) => hostPort > 0)), `${at}.ports.hostPort: there is no host`],
    [hooks.some((hook) => hook?.sleep !== undefined), `${at}.lifecycle: sleep hooks are not supported`],
    [isAny(volumeDevices), `${at}.volumeDevices: there are no block devices`],
    [
      isAny(env?.filter(({ valueFrom }) => valueFrom?.fileKeyRef !== undefined)),
      `${at}.env: values cannot come from files of a volume`,
    ],
  ];
}

const hasOwnTarget = (probe: Probe | undefined): boolean =>
  (probe?.httpGet?.host ?? '') !== '' ||
  (probe?.tcpSocket?.host ?? '') !== '' ||
  (probe?.httpGet?.httpHeaders ?? []).length > 0;

/** The kinds of volume that a group can have. */
const supported = new Set([
  'emptyDir',
  'configMap',
  'secret',
  'downwardAPI',
  'projected',
  'nfs',
  'flexVolume',
]);

function volumeFault({ name, ...source }: Volume): string[] {
  const kind = Object.keys(source)[0] ?? 'emptyDir';
  if (supported.has(kind)) return [];
  return [`volumes{${name}}.${kind}: supported are ${[...supported].join(', ')}`];
}

function sizeFault({ metadata, spec }: Pod): string[] {
  if (metadata?.annotations?.['k8s.aliyun.com/eci-use-specs'] !== undefined) return [];
  const size = groupSize(spec?.containers ?? [], spec?.initContainers ?? []);
  if (!size || legalSize(size)) return [];
  return [
    `the containers need ${String(size.cpu)} CPU and ${String(size.memory)} GiB of memory together: no group is that large`,
  ];
}
