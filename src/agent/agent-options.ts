import type { ApiClient } from '../api/client.ts';
import type { RawEvent } from '../api/events/event-correlator.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyEnvironment } from '../base/proxy.ts';
import type { Random } from '../base/random.ts';
import type { Tracer } from '../base/tracing.ts';
import type { Pod } from '../kube/types.ts';
import type { NodeControllerConfig } from '../node/node-config.ts';
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

/** A provider as the agent takes it: with or without a ping of its own. */
export type AgentProvider = PodProvider & Partial<NodeProvider>;

/** A provider, and what is to run beside the pods controller for it. */
export interface ProviderWithUpkeep {
  readonly provider: AgentProvider;
  /** Runs until the agent ends; it may use the controller's engines from then on. */
  readonly upkeep?: Upkeep;
}

/** What a whole node agent is made of. */
export interface AgentOptions extends ServedPorts {
  /** The pod resources API is served on `<rootDir>/pod-resources/kubelet.sock`; default: no. */
  readonly podResources?: boolean;
  readonly nodeName: string;
  /** Primary first; default: what the machine has. */
  readonly nodeIPs?: readonly string[];
  /** Where the agent keeps its things (`--root-dir`). */
  readonly rootDir: string;
  /** What is wrong with where the agent keeps its things. While something is, the node is not ready and takes no more pods. */
  readonly storageFault?: () => string | undefined;
  /** Absent: standalone (R25). */
  readonly client?: ApiClient;
  /** Static pods: a directory or a file. */
  readonly manifests?: string;
  /** The setting that `manifests` comes from, for messages; default: `staticPodPath`. */
  readonly manifestsSetting?: string;
  /** Between two listings of the manifests, ms (kubelet fileCheckFrequency). */
  readonly manifestPeriodMs?: number;
  /** A broken manifest does not end its pod (R21); default: it does, as with the kubelet. */
  readonly keepLastGoodManifest?: boolean;
  readonly manifestUrl?: string;
  readonly manifestUrlPeriodMs?: number;
  readonly manifestHeaders?: Readonly<Record<string, readonly string[]>>;
  /** Called with each Event that is reported, before it is combined with others or limited. */
  readonly onEvent?: (event: RawEvent) => void;
  /** By which proxies the manifest's server is asked; default: by none. */
  readonly proxies?: ProxyEnvironment;
  /** Makes the provider; called once, before anything runs. */
  readonly makeProvider: (
    context: ProviderContext,
  ) => Promise<AgentProvider | ProviderWithUpkeep> | AgentProvider | ProviderWithUpkeep;
  /** Gives pods cgroups of their own; absent: the provider keeps them apart, or nobody does. A function is asked once, at the start. */
  readonly cgroups?: NodeCgroupsOptions | (() => Promise<NodeCgroupsOptions>);
  /** The provider mounts volumes into containers: secrets lie in memory, and parts of volumes are made safe for it first. */
  readonly mountsVolumes?: boolean;
  /** Pods may have the cluster's trust bundles projected into volumes (gate ClusterTrustBundleProjection). */
  readonly projectsTrustBundles?: boolean;
  /** What is wrong with a pod's AppArmor profiles on this host; default: that is the provider's to say. */
  readonly appArmorFault?: (pod: Pod) => string | undefined;
  /** Gives pods that want it users of their own (`hostUsers: false`); absent: the provider does, or nobody. */
  readonly userNamespaces?: Pick<UserNamespacesDeps, 'idsPerPod'>;
  /** Absent, or with a provider that cannot tell what containers use: the node evicts no pods. */
  readonly eviction?: EvictionOptions;
  /** Absent: pods are not ended when the machine stops. */
  readonly shutdown?: ShutdownOptions;
  readonly node?: NodeSettings & Partial<NodeControllerConfig>;
  readonly periods?: Partial<PodsControllerPeriods>;
  /** How long a mirror pod that was deleted stays away before it is made anew, ms; default 0. */
  readonly mirrorPauseMs?: PodsControllerOptions['mirrorPauseMs'];
  /** Where telling statuses shall differ from the kubelet's: for providers whose pods start at once. */
  readonly statuses?: PodsControllerOptions['statuses'];
  /** Sysctls beyond the safe ones that pods may set. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** How many Events a second are written, and at once; default 50 and 100; a qps of 0: no limit (kubelet `eventRecordQPS`, `eventBurst`). */
  readonly events?: { readonly qps?: number; readonly burst?: number };
  readonly clusterDomain?: string;
  readonly clusterDns?: readonly string[];
  /** Pods share the host's resolver: nothing is worked out for them, and nothing said about a missing cluster DNS. */
  readonly hostDns?: boolean;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Traces pods, provider calls and requests to the kubelet API; default: nothing is traced. The API client has a tracer of its own. */
  readonly tracer?: Tracer;
  /** More for `/metrics`, of parts that the agent does not know. */
  readonly moreMetrics?: () => readonly MetricFamily[];
}
