import { AgentError, messageOf } from '../../../src/base/errors.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { generateContainerConfig } from '../../../src/containers/kuberuntime/config/container-config.ts';
import type { RunContainerOptions } from '../../../src/containers/kuberuntime/helper.ts';
import { imageUserOf } from '../../../src/containers/images/image-user.ts';
import { podUsersOf } from '../../../src/containers/kuberuntime/config/user-namespace.ts';
import type { ContainerConfig } from '../../../src/provider/cri-messages.ts';
import { check, type Replay } from '../harness.ts';
import { toProtoJson } from '../support/cri-json.ts';
import {
  criOptionalKeys,
  type RecordedHelper,
  type RecordedNode,
  runtimeHelperOf,
  settingsOf,
} from '../support/cri-node.ts';

interface NameAndValue {
  readonly Name: string;
  readonly Value: string;
}

/** `RunContainerOptions` under the names of its Go fields. */
interface RecordedOptions {
  readonly Envs: readonly NameAndValue[] | null;
  readonly Annotations: readonly NameAndValue[] | null;
  readonly Devices:
    | readonly {
        readonly PathOnHost: string;
        readonly PathInContainer: string;
        readonly Permissions: string;
      }[]
    | null;
  readonly CDIDevices: readonly { readonly Name: string }[] | null;
  readonly Mounts:
    | readonly {
        readonly ContainerPath: string;
        readonly HostPath: string;
        readonly ReadOnly: boolean;
        readonly RecursiveReadOnly: boolean;
        readonly SELinuxRelabel: boolean;
        readonly Propagation: 0 | 1 | 2;
      }[]
    | null;
  readonly PodContainerDir: string;
}

interface Input extends RecordedNode {
  readonly container: string;
  readonly helper: RecordedHelper & {
    readonly options: RecordedOptions;
    readonly imageUser: { readonly uid?: number; readonly username?: string };
  };
  readonly imageRef: string;
  readonly nsTarget?: string;
  readonly pod: Pod;
  readonly restartCount: number;
}

const optionsOf = (recorded: RecordedOptions): RunContainerOptions => ({
  envs: (recorded.Envs ?? []).map(({ Name, Value }) => ({ name: Name, value: Value })),
  annotations: Object.fromEntries((recorded.Annotations ?? []).map(({ Name, Value }) => [Name, Value])),
  devices: (recorded.Devices ?? []).map(({ PathOnHost, PathInContainer, Permissions }) => ({
    hostPath: PathOnHost,
    containerPath: PathInContainer,
    permissions: Permissions,
  })),
  cdiDevices: (recorded.CDIDevices ?? []).map(({ Name }) => ({ name: Name })),
  mounts: (recorded.Mounts ?? []).map((mount) => ({
    containerPath: mount.ContainerPath,
    hostPath: mount.HostPath,
    readonly: mount.ReadOnly,
    recursiveReadOnly: mount.RecursiveReadOnly,
    selinuxRelabel: mount.SELinuxRelabel,
    propagation: mount.Propagation,
  })),
  podContainerDir: recorded.PodContainerDir,
});

async function configOf(input: Input): Promise<ContainerConfig> {
  const { pod, helper, nsTarget } = input;
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const container = [...containers, ...initContainers].find(({ name }) => name === input.container);
  if (!container) throw new AgentError('internal', `no container ${input.container} in the recorded pod`);
  const settings = settingsOf(input);
  const { uid, username } = helper.imageUser;
  const users = await podUsersOf(pod, runtimeHelperOf(helper));
  const folder = helper.options.PodContainerDir;
  return generateContainerConfig(container, pod, {
    options: optionsOf(helper.options),
    restartCount: input.restartCount,
    imageRef: input.imageRef,
    imageUser: imageUserOf({
      ...(uid !== undefined && { uid: { value: uid } }),
      ...(username !== undefined && { username }),
    }),
    extraSupplementalGroups: helper.extraGroups ?? [],
    resources: settings,
    security: settings,
    ...(nsTarget !== undefined && { targetId: nsTarget }),
    users,
    ...(folder !== '' && { terminationLog: `${folder}/RANDOM8HEX` }),
  });
}

export const replay: Replay = async ({ in: given, out }) => {
  const actual = await configOf(given as Input).then(
    (config) => ({ config: toProtoJson(config), error: null }),
    (reason: unknown) => ({ config: null, error: messageOf(reason) }),
  );
  return check(out, actual, { operation: given }, { optionalKeys: criOptionalKeys });
};
