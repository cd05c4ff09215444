import { messageOf } from '../../../src/base/errors.ts';
import type { Container } from '../../../src/kube/types.ts';
import type { Mount } from '../../../src/provider/cri-messages.ts';
import {
  containerMounts,
  hostsFileMount,
  mountsHostsFile,
} from '../../../src/containers/volumes/container-mounts.ts';
import { check, type Replay } from '../harness.ts';

interface Volume {
  readonly path: string;
  readonly readOnly: boolean;
  readonly managed: boolean;
  readonly selinuxRelabel: boolean;
  readonly selinuxLabeled: boolean;
}

interface Input {
  readonly container: string;
  readonly envs: readonly { readonly Name: string; readonly Value: string }[];
  readonly hostNetwork: boolean;
  readonly podIPs: readonly string[] | null;
  readonly supportsRRO: boolean;
  readonly volumeMounts: Container['volumeMounts'] | null;
  readonly volumes: Readonly<Record<string, Volume>> | null;
}

const shown = (name: string, mount: Mount): unknown => ({
  Name: name,
  ContainerPath: mount.containerPath,
  HostPath: mount.hostPath,
  ReadOnly: mount.readonly,
  RecursiveReadOnly: mount.recursiveReadOnly,
  SELinuxRelabel: mount.selinuxRelabel,
  Propagation: mount.propagation,
});

function run(input: Input): unknown[] {
  const container: Container = { name: input.container, volumeMounts: input.volumeMounts ?? [] };
  const volumes = new Map(
    Object.entries(input.volumes ?? {}).map(([name, { path, readOnly, ...labels }]) => [
      name,
      { path, readOnly, relabel: labels.managed && labels.selinuxRelabel && !labels.selinuxLabeled },
    ]),
  );
  const envs = input.envs.map(({ Name, Value }) => ({ name: Name, value: Value }));
  const planned = containerMounts({ container, volumes, envs, supportsRecursiveReadOnly: input.supportsRRO });
  const mounts = planned.map(({ name, mount }) => shown(name, mount));
  const pod = { spec: { containers: [container], hostNetwork: input.hostNetwork } };
  const hosts = mountsHostsFile(pod, container, input.podIPs ?? []);
  return hosts ? [...mounts, shown('k8s-managed-etc-hosts', hostsFileMount('PODDIR/etc-hosts'))] : mounts;
}

export const replay: Replay = ({ in: input, out }) => {
  try {
    return check(out, { error: null, mounts: run(input as Input) }, { operation: input });
  } catch (reason) {
    return check(out, { error: messageOf(reason), mounts: [] }, { operation: input });
  }
};
