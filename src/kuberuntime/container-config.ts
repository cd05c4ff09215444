import { join } from 'node:path';
import { expand } from '../kube/expansion.ts';
import type { Container, Pod } from '../kube/types.ts';
import {
  type ContainerConfig,
  type LinuxContainerConfig,
  type Mount,
  Signal,
} from '../provider/cri-messages.ts';
import type { RunContainerOptions } from './helper.ts';
import { newContainerAnnotations, newContainerLabels } from './labels.ts';
import { containerLogPath } from './log-paths.ts';
import { linuxResources, type ResourceSettings } from './resources.ts';
import { containerSecurityContext } from './security-context.ts';

/** What a container's configuration is made of besides pod and spec. */
export interface ContainerConfigInputs {
  readonly options: RunContainerOptions;
  readonly restartCount: number;
  readonly imageRef: string;
  /** The runtime's id of the container whose processes an ephemeral container sees. */
  readonly targetId?: string;
  readonly extraSupplementalGroups: readonly number[];
  readonly resources: ResourceSettings;
  /** The termination log file on the node, already made; absent: the container gets none. */
  readonly terminationLog?: string;
}

/**
 * What CreateContainer is asked for. Follows `generateContainerConfig` (pkg/kubelet/kuberuntime).
 *
 * @throws {AgentError} `invalid_argument`; the message becomes that of `CreateContainerConfigError`
 */
export function generateContainerConfig(
  container: Container,
  pod: Pod,
  inputs: ContainerConfigInputs,
): ContainerConfig {
  const { options, restartCount, imageRef } = inputs;
  const envs = options.envs ?? [];
  const expandAll = (texts: readonly string[] | undefined): readonly string[] =>
    (texts ?? []).map((text) => expand(text, (name) => envs.findLast((env) => env.name === name)?.value));
  const stopSignal = container.lifecycle?.stopSignal;
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: imageRef, userSpecifiedImage: container.image ?? '' },
    command: expandAll(container.command),
    args: expandAll(container.args),
    workingDir: container.workingDir ?? '',
    labels: newContainerLabels(container, pod),
    annotations: newContainerAnnotations(container, pod, restartCount, options.annotations),
    envs: envs.map(({ name, value }) => ({ key: name, value: Buffer.from(value) })),
    mounts: mountsOf(container, inputs),
    devices: options.devices ?? [],
    cdiDevices: options.cdiDevices ?? [],
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    ...(stopSignal !== undefined && { stopSignal: signalOf(stopSignal) }),
    linux: linuxConfig(container, pod, inputs),
  };
}

const signalOf = (name: string): Signal =>
  (Signal as Readonly<Record<string, Signal>>)[name] ?? Signal.RUNTIME_DEFAULT;

function mountsOf(container: Container, { options, terminationLog }: ContainerConfigInputs): Mount[] {
  const mounts = [...(options.mounts ?? [])];
  const containerPath = container.terminationMessagePath ?? '';
  if (terminationLog !== undefined && containerPath !== '')
    mounts.push({ containerPath, hostPath: terminationLog });
  return mounts;
}

/** The name of a termination log file: random, as every start writes a new one. */
export const terminationLogPath = (podContainerDir: string, random: string): string =>
  join(podContainerDir, random);

const linuxConfig = (
  container: Container,
  pod: Pod,
  inputs: ContainerConfigInputs,
): LinuxContainerConfig => ({
  resources: linuxResources(pod, container, inputs.resources),
  securityContext: containerSecurityContext(container, pod, inputs.extraSupplementalGroups, inputs.targetId),
});
