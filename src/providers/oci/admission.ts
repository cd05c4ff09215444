import { nameOf, namespaceOf } from '../../kube/names.ts';
import type { Container, Pod } from '../../kube/types.ts';
import { unsupportedReason } from '../../provider/capabilities.ts';
import type { ProviderAdmission } from '../../provider/powers.ts';
import { canBeUser, type Isolation } from './isolation.ts';

/** The machine, as far as it decides which pods can run. */
export interface OciAdmissionHost {
  readonly isolation: Pick<Isolation, 'kind' | 'rootless' | 'mounts'>;
  /** The controllers that enforce limits. */
  readonly controllers: readonly string[];
  readonly hasTerminals: boolean;
}

/** The status reason of a pod whose port another pod has. */
const portsReason = 'NodePorts';

type Checks = readonly (readonly [boolean, string])[];
type Context = NonNullable<Container['securityContext']>;

const messagesOf = (checks: Checks): readonly string[] =>
  checks.filter(([is]) => is).map(([, fault]) => fault);

/** Decides whether containers with root file systems can be what a pod asks for. Nothing is left out silently. */
export function admitOciPod(pod: Pod, others: readonly Pod[], host: OciAdmissionHost): ProviderAdmission {
  const faults = [
    ...podFaults(pod),
    ...volumeFaults(pod, host),
    ...containersOf(pod).flatMap((container) =>
      containerFaults(container, host).map((fault) => `container "${container.name}": ${fault}`),
    ),
  ];
  if (faults.length > 0) return { admit: false, reason: unsupportedReason, message: faults.join('; ') };
  const clash = portClash(pod, others);
  if (clash !== undefined) return { admit: false, reason: portsReason, message: clash };
  const warnings = limitWarnings(pod, host);
  return { admit: true, ...(warnings.length > 0 && { warnings }) };
}

const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

function podFaults({ spec }: Pod): readonly string[] {
  if (!spec) return [];
  return messagesOf([
    [spec.hostUsers === false, 'spec.hostUsers=false: pods have no user namespace of their own'],
    [spec.runtimeClassName !== undefined, 'spec.runtimeClassName: there are no runtime classes'],
    [
      spec.shareProcessNamespace === true,
      'spec.shareProcessNamespace=true: each container has processes of its own',
    ],
    [spec.hostPID === true, 'spec.hostPID=true: each container has processes of its own'],
    [(spec.resourceClaims ?? []).length > 0, 'spec.resourceClaims: there are no devices to claim'],
    [spec.os?.name === 'windows', 'spec.os.name=windows: the host runs Linux'],
    ...podSecurityChecks(spec.securityContext ?? {}),
  ]);
}

type PodContext = NonNullable<NonNullable<Pod['spec']>['securityContext']>;

function podSecurityChecks(context: PodContext): Checks {
  const { sysctls = [], seLinuxOptions } = context;
  const names = sysctls.map(({ name }) => name).join(', ');
  return [
    [sysctls.length > 0, `spec.securityContext.sysctls: they would change the host (${names})`],
    [seLinuxOptions !== undefined, 'spec.securityContext.seLinuxOptions: labels are not set'],
    ...profileChecks('spec.securityContext', context),
  ];
}

function profileChecks(
  where: string,
  { seccompProfile, appArmorProfile }: Pick<Context, 'seccompProfile' | 'appArmorProfile'>,
): Checks {
  const [seccomp, appArmor] = [seccompProfile?.type ?? 'Unconfined', appArmorProfile?.type ?? 'Unconfined'];
  return [
    [
      seccomp !== 'Unconfined',
      `${where}.seccompProfile.type=${seccomp}: there are no seccomp profiles; set it to Unconfined or leave it out`,
    ],
    [
      appArmor !== 'Unconfined',
      `${where}.appArmorProfile.type=${appArmor}: there are no AppArmor profiles; set it to Unconfined or leave it out`,
    ],
  ];
}

function containerFaults(container: Container, host: OciAdmissionHost): readonly string[] {
  const { securityContext = {}, ports = [], tty, volumeDevices = [], image = '' } = container;
  return messagesOf([
    [image === '', 'there is no image'],
    [
      tty === true && !host.hasTerminals,
      'tty: a terminal needs the programs script (bsdutils) and stty (coreutils) on the host',
    ],
    [volumeDevices.length > 0, 'volumeDevices: there are no block devices'],
    ...privilegeChecks(securityContext, host),
    ...contextChecks(securityContext),
    ...ports.flatMap(portChecks),
  ]);
}

function privilegeChecks(context: Context, { isolation }: OciAdmissionHost): Checks {
  const { privileged, readOnlyRootFilesystem, runAsUser = 0 } = context;
  const { kind, rootless } = isolation;
  const where = `isolation ${kind}${rootless ? ' without root' : ''}`;
  return [
    [
      privileged === true && (kind !== 'namespaces' || rootless),
      `securityContext.privileged=true: ${where} has no privileges to give`,
    ],
    [
      readOnlyRootFilesystem === true && kind !== 'namespaces' && kind !== 'bubblewrap',
      `securityContext.readOnlyRootFilesystem=true: ${where} cannot enforce it`,
    ],
    [!canBeUser(isolation, runAsUser), `securityContext.runAsUser=${runAsUser}: ${where} has root only`],
  ];
}

function contextChecks(context: Context): Checks {
  const { seLinuxOptions, windowsOptions, procMount = 'Default' } = context;
  return [
    [seLinuxOptions !== undefined, 'securityContext.seLinuxOptions: labels are not set'],
    [windowsOptions !== undefined, 'securityContext.windowsOptions: the host runs Linux'],
    [procMount !== 'Default', `securityContext.procMount=${procMount}: only Default`],
    ...profileChecks('securityContext', context),
  ];
}

const portChecks = ({
  hostPort = 0,
  containerPort,
  hostIP = '',
}: NonNullable<Container['ports']>[number]): Checks => [
  [
    hostPort !== 0 && hostPort !== containerPort,
    `hostPort ${hostPort} differs from containerPort ${containerPort}: pods share the host's network, make them equal`,
  ],
  [
    !['', '0.0.0.0', '::'].includes(hostIP),
    `hostIP ${hostIP}: the program itself chooses the address that it listens on`,
  ],
];

/** Kinds of volumes whose files the agent writes. */
const payloads = ['configMap', 'secret', 'downwardAPI', 'projected'] as const;
const kinds = [...payloads, 'emptyDir', 'hostPath'] as const;

function volumeFaults(
  pod: Pod,
  { isolation: { kind, mounts, rootless } }: OciAdmissionHost,
): readonly string[] {
  const volumes = new Map((pod.spec?.volumes ?? []).map((volume) => [volume.name, volume]));
  const unknown = [...volumes.values()].flatMap((volume) => {
    if (kinds.some((one) => volume[one] !== undefined)) return [];
    const { name, ...source } = volume;
    return [
      `volume "${name}": the OCI provider has no ${Object.keys(source)[0] ?? 'kind'}; there are ${kinds.join(', ')}`,
    ];
  });
  const mounted = containersOf(pod).flatMap(({ name: container, volumeMounts = [] }) =>
    volumeMounts.flatMap(
      ({ name, mountPath, mountPropagation = 'None', readOnly, recursiveReadOnly = 'Disabled' }) => {
        const where = `container "${container}": mount of "${name}" at ${mountPath}`;
        const isPayload = payloads.some((one) => volumes.get(name)?.[one] !== undefined);
        return messagesOf([
          [
            !mounts && !isPayload,
            `${where}: isolation ${kind} cannot mount volumes; it copies configMap, secret, downwardAPI and projected`,
          ],
          [
            mounts &&
              readOnly === true &&
              !isPayload &&
              (kind === 'proot' || (kind === 'namespaces' && rootless)),
            `${where}: readOnly cannot be enforced by isolation ${kind}`,
          ],
          [mountPropagation !== 'None', `${where}: mountPropagation=${mountPropagation} is not supported`],
          [recursiveReadOnly === 'Enabled', `${where}: recursiveReadOnly=Enabled is not supported`],
        ]);
      },
    ),
  );
  return [...unknown, ...mounted];
}

/** Returns all container ports, each of which is a port of the host. */
const portsOf = (pod: Pod): ReadonlySet<string> =>
  new Set(
    containersOf(pod).flatMap(({ ports = [] }) =>
      ports.map(({ protocol, containerPort }) => `${protocol ?? 'TCP'} ${containerPort}`),
    ),
  );

function portClash(pod: Pod, others: readonly Pod[]): string | undefined {
  const ports = portsOf(pod);
  for (const other of ports.size === 0 ? [] : others) {
    const conflict = [...portsOf(other)].find((port) => ports.has(port));
    if (conflict !== undefined)
      return `port ${conflict} is declared by pod ${namespaceOf(other)}/${nameOf(other)} already; pods share the host's ports`;
  }
  return undefined;
}

const limitWarnings = (pod: Pod, { controllers }: OciAdmissionHost): readonly string[] =>
  containersOf(pod).flatMap(({ name, resources }) => {
    const limits = Object.keys(resources?.limits ?? {}).filter((name) => !controllers.includes(name));
    return limits.length === 0
      ? []
      : [`container "${name}": limits on ${limits.join(', ')} are not enforced by the OCI provider`];
  });
