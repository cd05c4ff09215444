import { Backoff, crashLoopBackoff, imagePullBackoff } from '../../src/base/backoff.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { ProbeResult } from '../../src/containers/kuberuntime/actions/pod-actions.ts';
import type { RuntimeHelper } from '../../src/containers/kuberuntime/helper.ts';
import { KubeRuntime, type KubeRuntimeDeps } from '../../src/containers/kuberuntime/kube-runtime.ts';
import { nameOf as nameOfObject } from '../../src/kube/names.ts';
import type { MemoryRuntime } from './memory-runtime.ts';
import { noFiles } from './no-files.ts';

/** A runtime helper that adds nothing to any container. */
export const plainHelper: RuntimeHelper = {
  generateRunContainerOptions: async () => ({}),
  environment: async () => [],
  getPodDns: () => ({}),
  hostnameAndDomain: (pod) => ({ hostname: nameOfObject(pod), domain: '' }),
  cgroupParent: () => '',
  extraSupplementalGroups: () => [],
  isPodTerminationRequested: () => false,
};

/** A {@link KubeRuntime} on a {@link MemoryRuntime}, with its recorded Events and its inputs. */
export interface RuntimeUnderTest {
  readonly provider: KubeRuntime;
  /** `type reason message` */
  readonly events: string[];
  readonly fieldPaths: (string | undefined)[];
  /** By container id `type://id`. */
  readonly liveness: Map<string, ProbeResult>;
  readonly startup: Map<string, ProbeResult>;
}

export function kubeRuntimeOver(
  runtime: MemoryRuntime,
  clock: Clock,
  {
    containerLogsRoot,
    deadInstancesKept,
    features,
    ...overrides
  }: Partial<KubeRuntimeDeps> & {
    readonly containerLogsRoot?: string;
    readonly deadInstancesKept?: number;
    readonly features?: Readonly<Record<string, boolean>>;
  } = {},
): RuntimeUnderTest {
  const events: string[] = [];
  const fieldPaths: (string | undefined)[] = [];
  const liveness = new Map<string, ProbeResult>();
  const startup = new Map<string, ProbeResult>();
  const deps: KubeRuntimeDeps = {
    runtime,
    images: runtime,
    helper: plainHelper,
    recorder: {
      event: (_object, type, reason, message, details) => {
        events.push(`${type} ${reason} ${message}`);
        fieldPaths.push(details?.fieldPath);
      },
    },
    clock,
    random: systemRandom,
    logger: silentLogger,
    crashBackoff: new Backoff(clock, crashLoopBackoff),
    imageBackoff: new Backoff(clock, imagePullBackoff),
    liveness,
    startup,
    files: noFiles,
    ...overrides,
  };
  const options = {
    ...{ runtimeName: 'memory', podLogsRoot: '/var/log/pods', memoryCapacityBytes: 8e9 },
    ...(containerLogsRoot !== undefined && { containerLogsRoot }),
    ...(deadInstancesKept !== undefined && { deadInstancesKept }),
    ...(features && { features }),
  };
  const provider = new KubeRuntime(deps, { ...options, maxParallelImagePulls: 1 });
  return { provider, events, fieldPaths, liveness, startup };
}
