import { makeEnvironment } from '../../../src/containers/envvars/environment.ts';
import { messageOf } from '../../../src/base/errors.ts';
import type { ConfigMap, Pod, Secret, Service } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly pod: Pod;
  readonly container: string;
  readonly configMaps: Readonly<Record<string, ConfigMap>> | null;
  readonly secrets: Readonly<Record<string, Secret>> | null;
  readonly services: readonly Service[] | null;
  readonly servicesSynced: boolean;
  readonly nodeAllocatable: Readonly<Record<string, string>>;
  readonly nodeAddresses: readonly string[];
  readonly podIPs: readonly string[] | null;
}

export const replay: Replay = ({ in: given, out }) => {
  const input = given as Input;
  const { containers = [], initContainers = [] } = input.pod.spec ?? {};
  const container = [...containers, ...initContainers].find(({ name }) => name === input.container);
  if (!container) throw new Error(`no container ${input.container}`);
  try {
    const environment = makeEnvironment(input.pod, container, {
      configMap: (name) => input.configMaps?.[name],
      secret: (name) => input.secrets?.[name],
      services: input.services ?? [],
      servicesSynced: input.servicesSynced,
      nodeAllocatable: input.nodeAllocatable,
      hostIps: input.nodeAddresses,
      podIps: input.podIPs ?? [],
    });
    const envs = environment
      .map(({ name, value }) => [name, value])
      .sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
    return check(out, { envs });
  } catch (reason) {
    return check(out, { error: messageOf(reason) });
  }
};
