import { tableOf } from '../../../base/own.ts';
import { join } from 'node:path';
import { expandAll } from '../../../kube/expansion.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import {
  type ContainerConfig,
  type LinuxContainerConfig,
  type Mount,
  Signal,
} from '../../../provider/cri-messages.ts';
import type { RunContainerOptions } from '../helper.ts';
import { terminationPath } from '../termination-message.ts';
import { newContainerAnnotations, newContainerLabels } from './labels.ts';
import { containerLogPath } from '../../paths/log-paths.ts';
import { linuxResources, type ResourceSettings } from './resources.ts';
import { verifyRunAsNonRoot } from './run-as-non-root.ts';
import { containerSecurityContext, type SecurityInputs } from './security-context.ts';

/** Inputs of a container's configuration besides pod and spec. */
export interface ContainerConfigInputs extends SecurityInputs {
  readonly options: RunContainerOptions;
  readonly restartCount: number;
  readonly imageRef: string;
  readonly resources: ResourceSettings;
  /** Kubernetes feature gates that differ from their default; `ContainerStopSignals` is off. */
  readonly features?: Readonly<Record<string, boolean>>;
  /** The termination log file on the node, which must exist; absent: the container gets none. */
  readonly terminationLog?: string;
}

/**
 * Returns the configuration for CreateContainer. Follows `generateContainerConfig` (pkg/kubelet/kuberuntime).
 *
 * @throws {AgentError} `invalid_argument`; the message becomes that of `CreateContainerConfigError`
 */
export function generateContainerConfig(
  container: Container,
  pod: Pod,
  inputs: ContainerConfigInputs,
): ContainerConfig {
  const { options, restartCount, imageRef } = inputs;
  verifyRunAsNonRoot(pod, container, inputs.imageUser ?? {});
  const envs = options.envs ?? [];
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  const expanded = (texts: readonly string[] = []): readonly string[] =>
    expandAll(texts, (name) => values.get(name));
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: imageRef, userSpecifiedImage: container.image ?? '' },
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir ?? '',
    labels: newContainerLabels(container, pod),
    annotations: newContainerAnnotations(container, pod, restartCount, options.annotations),
    envs: envs.map(({ name, value }) => ({ key: name, value: Buffer.from(value) })),
    mounts: mountsOf(container, inputs),
    devices: options.devices ?? [],
    cdiDevices: options.cdiDevices ?? [],
    logPath: containerLogPath(container.name, restartCount),
    ...streamsOf(container),
    ...stopSignalOf(container, inputs),
    linux: linuxConfig(container, pod, inputs),
  };
}

const streamsOf = ({
  stdin = false,
  stdinOnce = false,
  tty = false,
}: Container): Pick<ContainerConfig, 'stdin' | 'stdinOnce' | 'tty'> => ({ stdin, stdinOnce, tty });

const signals: Readonly<Record<string, Signal>> = tableOf(Signal);

/** Converts a signal name: the API writes `SIGRTMIN+1` where CRI has words. */
function stopSignalOf(
  { lifecycle }: Container,
  { features }: ContainerConfigInputs,
): Pick<ContainerConfig, 'stopSignal'> {
  const name = lifecycle?.stopSignal;
  if (name === undefined || features?.['ContainerStopSignals'] !== true) return {};
  const signal = signals[name.replace('+', 'PLUS').replace('-', 'MINUS')];
  return { stopSignal: signal ?? Signal.RUNTIME_DEFAULT };
}

function mountsOf(container: Container, inputs: ContainerConfigInputs): readonly Mount[] {
  const { options, terminationLog, users } = inputs;
  const selinux = inputs.security.selinuxEnabled ?? false;
  const mounts: Mount[] = (options.mounts ?? []).map((mount) => ({
    ...mount,
    selinuxRelabel: selinux && mount.selinuxRelabel === true,
  }));
  const path = container.terminationMessagePath ?? '';
  if (terminationLog !== undefined && path !== '')
    mounts.push({
      containerPath: terminationPath(path),
      hostPath: terminationLog,
      selinuxRelabel: selinux,
    });
  if (!users.mapping) return mounts;
  const { uids = [], gids = [] } = users.mapping;
  return mounts.map((mount) => ({ ...mount, uidMappings: uids, gidMappings: gids }));
}

/** Returns the path of a new termination log file; the name is random, as every start uses a new file. */
export const terminationLogPath = (podContainerDir: string, random: string): string =>
  join(podContainerDir, random);

const linuxConfig = (
  container: Container,
  pod: Pod,
  inputs: ContainerConfigInputs,
): LinuxContainerConfig => ({
  resources: linuxResources(pod, container, inputs.resources),
  securityContext: containerSecurityContext(container, pod, inputs),
});
