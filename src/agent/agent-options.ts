import type { ApiClient } from '../api/client.ts';
import type { RawEvent } from '../api/events/event-correlator.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyEnvironment } from '../base/proxy.ts';
import type { Random } from '../base/random.ts';
import type { Tracer } from '../base/tracing.ts';
import type { Pod } from '../kube/types.ts';
import type { NodeControllerConfig } from '../node/node-config.ts';
import type { RegistryOptions } from '../pods/registry.ts';
import type { Middleware } from '../provider/middleware.ts';
import type { NodeProvider, PodProvider } from '../provider/provider.ts';
import type { MetricFamily } from '../metrics/family.ts';
import type { EvictionOptions, ShutdownOptions } from './evictions.ts';
import type { ServedPorts } from './kubelet-api.ts';
import type { NodeSettings } from './node-setters.ts';
import type { NodeCgroupsOptions } from '../containers/cm/node-cgroups.ts';
import type { PodsControllerOptions, PodsControllerPeriods } from '../pods/pods-controller.ts';
import type { ProviderContext } from './provider-context.ts';
import type { Upkeep } from './garbage-collection.ts';
import type { UserNamespacesDeps } from '../containers/userns/userns-manager.ts';

/** A provider for an agent, with or without its own ping. */
export type AgentProvider = PodProvider & Partial<NodeProvider>;

/** A provider with its background work. */
export interface ProviderWithUpkeep {
  readonly provider: AgentProvider;
  /** Background work that runs until the agent ends; it may use the controller's engines. */
  readonly upkeep?: Upkeep;
}

/** Makes the middleware of a node that is about to start. */
export type MiddlewareFactory = (context: {
  readonly nodeName: string;
  /** The directory for the agent's state; below `pods/UID` it is removed with the pod. */
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent in a standalone agent. */
  readonly client?: ApiClient;
}) => readonly Middleware[] | Promise<readonly Middleware[]>;

/** The options of an {@link Agent}. */
export interface AgentOptions extends ServedPorts {
  /** Serves the pod resources API on `<rootDir>/pod-resources/kubelet.sock`. Default false. */
  readonly podResources?: boolean;
  readonly nodeName: string;
  /** The node's addresses, primary first. Default: those of the machine. */
  readonly nodeIPs?: readonly string[];
  /** The directory for the agent's state (`--root-dir`). */
  readonly rootDir: string;
  /** Returns the problem with the agent's storage. While there is one, the node is not ready and admits no pods. */
  readonly storageFault?: () => string | undefined;
  /** The API client; absent for a standalone agent (R25). */
  readonly client?: ApiClient;
  /** The directory or file of static pod manifests. */
  readonly manifests?: string;
  /** The name of the setting that `manifests` comes from, for messages. Default: `staticPodPath`. */
  readonly manifestsSetting?: string;
  /** The time between two listings of the manifests, ms (kubelet `fileCheckFrequency`). */
  readonly manifestPeriodMs?: number;
  /** Keeps the pod of a manifest that has become invalid (R21). Default false: its pod ends, as in the kubelet. */
  readonly keepLastGoodManifest?: boolean;
  readonly manifestUrl?: string;
  readonly manifestUrlPeriodMs?: number;
  readonly manifestHeaders?: Readonly<Record<string, readonly string[]>>;
  /** Called with each recorded Event, before aggregation and rate limiting. */
  readonly onEvent?: (event: RawEvent) => void;
  /** The proxies for requests to the manifest URL. Default: none. */
  readonly proxies?: ProxyEnvironment;
  /** Makes the provider. Called once, before anything runs. */
  readonly makeProvider: (
    context: ProviderContext,
  ) => Promise<AgentProvider | ProviderWithUpkeep> | AgentProvider | ProviderWithUpkeep;
  /** Creates a cgroup for each pod; absent when the agent does not manage cgroups. A function is called once, at the start. */
  readonly cgroups?: NodeCgroupsOptions | (() => Promise<NodeCgroupsOptions>);
  /**
   * True when the provider mounts volumes into containers: secrets are then held in memory, and subpaths of volumes are made safe before
   * the mount.
   */
  readonly mountsVolumes?: boolean;
  /** Allows projected volumes with the cluster's trust bundles (feature gate ClusterTrustBundleProjection). */
  readonly projectsTrustBundles?: boolean;
  /** Returns the problem with a pod's AppArmor profiles on this host. Default: the provider decides. */
  readonly appArmorFault?: (pod: Pod) => string | undefined;
  /** Assigns user and group IDs to pods with a user namespace (`hostUsers: false`); absent when the agent does not assign them. */
  readonly userNamespaces?: Pick<UserNamespacesDeps, 'idsPerPod'>;
  /** The eviction settings. No pod is evicted when they are absent or when the provider has no `listUsage`. */
  readonly eviction?: EvictionOptions;
  /** The settings of the graceful node shutdown; absent: pods are not terminated when the machine shuts down. */
  readonly shutdown?: ShutdownOptions;
  readonly node?: NodeSettings & Partial<NodeControllerConfig>;
  readonly periods?: Partial<PodsControllerPeriods>;
  /** The time between the deletion of a mirror pod and its next creation, ms. Default 0. */
  readonly mirrorPauseMs?: PodsControllerOptions['mirrorPauseMs'];
  /** Optional differences from the way in which the kubelet sends statuses, for providers whose pods start within milliseconds. */
  readonly statuses?: PodsControllerOptions['statuses'];
  /** The unsafe sysctls that pods may set. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /**
   * The rate limit for Events: per second, and at once. Defaults 50 and 100; a qps of 0 means no limit (kubelet `eventRecordQPS`,
   * `eventBurst`).
   */
  readonly events?: { readonly qps?: number; readonly burst?: number };
  readonly clusterDomain?: string;
  readonly clusterDns?: readonly string[];
  /** Pods use the host's resolver: no DNS configuration is generated, and a missing cluster DNS is not reported. */
  readonly hostDns?: boolean;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Traces pods, provider calls and requests to the kubelet API. Default: no tracing. The API client has its own tracer. */
  readonly tracer?: Tracer;
  /** The registries for images, with their credentials; absent: image names are used as the pods state them. */
  readonly registry?: RegistryOptions;
  /** Hooks on the pods' way, or a function that makes them; see {@link Middleware}. */
  readonly middleware?: readonly Middleware[] | MiddlewareFactory;
  /** Additional metrics for `/metrics`, from components outside the agent. */
  readonly moreMetrics?: () => readonly MetricFamily[];
}
