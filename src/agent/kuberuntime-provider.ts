import { totalmem } from 'node:os';
import { Backoff, type BackoffOptions, crashLoopBackoff, imagePullBackoff } from '../base/backoff.ts';
import { steadyNow, systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { ActuatedStore } from '../containers/kuberuntime/resize/actuated.ts';
import {
  type KubeRuntimeDeps,
  type KubeRuntimeOptions,
  KubeRuntime,
} from '../containers/kuberuntime/kube-runtime.ts';
import type { RuntimeHelper } from '../containers/kuberuntime/helper.ts';
import { nameOf } from '../kube/names.ts';
import type { ContainerRuntime, ImageService } from '../provider/container-runtime.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { AgentOptions } from './agent-options.ts';
import { runtimeUpkeep, type UpkeepSettings } from './garbage-collection.ts';
import type { ProviderContext } from './provider-context.ts';

/** A container runtime with its specifics, to make a pod provider from. */
export interface RuntimeParts extends Pick<
  KubeRuntimeDeps,
  'powers' | 'keyring' | 'pullRecords' | 'mayPull'
> {
  readonly runtime: ContainerRuntime;
  readonly images: ImageService;
}

/** The options of {@link kuberuntimeProvider}. */
export interface ProviderOptions extends Omit<KubeRuntimeOptions, 'memoryCapacityBytes'> {
  /** The back-off of crashing containers. Default: from 10 s to 5 min. */
  readonly crashBackoff?: BackoffOptions;
}

/**
 * Makes a pod provider on top of a container runtime, connected to the agent.
 *
 * @example
 * const makeProvider = (context: ProviderContext) =>
 *   kuberuntimeProvider(context, { runtime, images }, { runtimeName: 'rooms', podLogsRoot: '/var/log/pods' });
 */
export function kuberuntimeProvider(
  {
    helper,
    recorder,
    clock,
    random,
    logger,
    machine,
    actuated,
    probeResults,
    runtimeCalls,
    starts,
  }: ProviderContext,
  parts: RuntimeParts,
  { crashBackoff = crashLoopBackoff, ...options }: ProviderOptions,
): KubeRuntime {
  return new KubeRuntime(
    {
      ...parts,
      runtime: runtimeCalls.around(parts.runtime),
      images: runtimeCalls.around(parts.images),
      counts: starts.counts(),
      helper,
      recorder,
      clock,
      random,
      logger,
      actuated: new ActuatedStore(actuated),
      crashBackoff: new Backoff(clock, crashBackoff),
      imageBackoff: new Backoff({ now: () => steadyNow(clock) }, imagePullBackoff),
      ...probeResults,
    },
    { memoryCapacityBytes: machine.machine.memoryCapacity, ...options },
  );
}

/** The kubelet's defaults: container logs of at most 10 MiB, 5 files each, checked every 10 s. */
const upkeepDefaults: UpkeepSettings = { logs: { maxBytes: 10 * 2 ** 20, maxFiles: 5, periodMs: 10_000 } };

/**
 * Returns the provider of a container runtime with its garbage collection, for `makeProvider` of an agent: the runtime starts and stops
 * containers, and the agent does the rest as the kubelet does.
 *
 * @example
 * const makeProvider = containerProvider({ runtime, images }, { runtimeName: 'rooms', podLogsRoot: '/var/log/pods' });
 * const agent = await Agent.create({ nodeName: 'rooms', rootDir: '/var/lib/rooms', client, makeProvider });
 */
export const containerProvider =
  (
    parts: RuntimeParts,
    options: ProviderOptions,
    upkeep: UpkeepSettings = upkeepDefaults,
  ): AgentOptions['makeProvider'] =>
  (context) => {
    const { runtime, images } = parts;
    const provider = kuberuntimeProvider(context, parts, options);
    const { imageRemoved } = context.starts;
    return {
      provider,
      upkeep: runtimeUpkeep({ ...context, provider, runtime, images, imageRemoved }, upkeep),
    };
  };

/** What containers get from a node, where there is no node: nothing. */
const noNode: RuntimeHelper = {
  generateRunContainerOptions: () => Promise.resolve({}),
  environment: () => Promise.resolve([]),
  getPodDns: () => ({}),
  hostnameAndDomain: (pod) => ({ hostname: nameOf(pod), domain: '' }),
  cgroupParent: () => '',
  extraSupplementalGroups: () => [],
  isPodTerminationRequested: () => false,
};

/** Replacements of the parts around a {@link standaloneContainerProvider}; all have defaults. */
export type StandaloneParts = Partial<
  Pick<KubeRuntimeDeps, 'clock' | 'random' | 'logger' | 'recorder' | 'liveness' | 'startup'>
>;

/**
 * Returns the provider of a container runtime without a node around it: containers get no environment, volumes or DNS. For the conformance
 * suite and tests of a runtime; {@link containerProvider} makes the provider of an agent.
 *
 * @example
 * const provider = standaloneContainerProvider({ runtime, images }, { runtimeName: 'rooms', podLogsRoot });
 * conformance(provider, { describe, it });
 */
export function standaloneContainerProvider(
  parts: RuntimeParts,
  { crashBackoff = crashLoopBackoff, ...options }: ProviderOptions,
  around: StandaloneParts = {},
): PodProvider {
  const clock = around.clock ?? systemClock;
  const deps: KubeRuntimeDeps = {
    random: systemRandom,
    logger: silentLogger,
    recorder: { event: () => undefined },
    liveness: new Map(),
    startup: new Map(),
    ...around,
    ...parts,
    clock,
    helper: noNode,
    crashBackoff: new Backoff(clock, crashBackoff),
    imageBackoff: new Backoff({ now: () => steadyNow(clock) }, imagePullBackoff),
  };
  const provider = new KubeRuntime(deps, { memoryCapacityBytes: totalmem(), ...options });
  const { runtime } = parts;
  // what the runtime does not have the provider does not offer
  return Object.assign(provider, {
    ...(!runtime.execSync && { execSync: undefined }),
    ...(!runtime.listContainerStats && { listUsage: undefined }),
  });
}
