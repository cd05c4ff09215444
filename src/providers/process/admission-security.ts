import type { Container, Pod } from '../../kube/types.ts';

/** User and group of the agent. */
export interface AgentUser {
  readonly uid: number;
  readonly gid: number;
}

type Context = NonNullable<Container['securityContext']>;
type PodContext = NonNullable<NonNullable<Pod['spec']>['securityContext']>;
type Checks = readonly (readonly [boolean, string])[];

const noProfile = 'set it to Unconfined or leave it out';

/**
 * Returns settings of a pod's security contexts that a process cannot have. Users, groups, dropped capabilities and
 * `allowPrivilegeEscalation: false` are supported when the agent is root.
 */
export function securityFaults(pod: Pod, agent: AgentUser): readonly string[] {
  const context = pod.spec?.securityContext ?? {};
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  return [
    ...faultsOf('spec.securityContext', [...sharedFaults(context, agent), ...podOnlyFaults(context, agent)]),
    ...containers.flatMap(({ name, securityContext = {} }) =>
      faultsOf(`container "${name}": securityContext`, [
        ...sharedFaults(securityContext, agent),
        ...containerOnlyFaults(securityContext),
      ]),
    ),
  ];
}

function faultsOf(where: string, checks: Checks): readonly string[] {
  return checks.filter(([is]) => is).map(([, fault]) => `${where}.${fault}`);
}

function sharedFaults(context: Context | PodContext, agent: AgentUser): Checks {
  const { runAsUser, runAsGroup, seccompProfile, appArmorProfile, seLinuxOptions, windowsOptions } = context;
  const seccomp = seccompProfile?.type ?? 'Unconfined';
  const appArmor = appArmorProfile?.type ?? 'Unconfined';
  const isOther = (requested: number | undefined, own: number): boolean =>
    agent.uid !== 0 && requested !== undefined && requested !== own;
  return [
    [
      isOther(runAsUser, agent.uid),
      `runAsUser=${runAsUser ?? 0}: the agent runs as ${agent.uid} and only root can change users`,
    ],
    [
      isOther(runAsGroup, agent.gid),
      `runAsGroup=${runAsGroup ?? 0}: the agent's group is ${agent.gid} and only root can change it`,
    ],
    [seccomp !== 'Unconfined', `seccompProfile.type=${seccomp}: there are no seccomp profiles; ${noProfile}`],
    [
      appArmor !== 'Unconfined',
      `appArmorProfile.type=${appArmor}: there are no AppArmor profiles; ${noProfile}`,
    ],
    [seLinuxOptions !== undefined, 'seLinuxOptions: labels are not set'],
    [windowsOptions !== undefined, 'windowsOptions: the host runs Linux'],
  ];
}

function podOnlyFaults(context: PodContext, agent: AgentUser): Checks {
  const { fsGroup, supplementalGroups = [], sysctls = [] } = context;
  return [
    [
      sysctls.length > 0,
      `sysctls: they would change the host (${sysctls.map(({ name }) => name).join(', ')})`,
    ],
    [
      agent.uid !== 0 && fsGroup !== undefined && fsGroup !== agent.gid,
      `fsGroup=${fsGroup ?? 0}: only root can change groups`,
    ],
    [agent.uid !== 0 && supplementalGroups.length > 0, 'supplementalGroups: only root can change groups'],
  ];
}

function containerOnlyFaults(context: Context): Checks {
  const added = context.capabilities?.add ?? [];
  return [
    [
      context.privileged === true,
      'privileged=true: there is no container to give privileges to; run the agent as the user that the process needs',
    ],
    [
      context.readOnlyRootFilesystem === true,
      "readOnlyRootFilesystem=true: the file system is the host's own",
    ],
    [
      added.length > 0,
      `capabilities.add: processes have the agent's capabilities, none can be added (${added.join(', ')})`,
    ],
  ];
}
