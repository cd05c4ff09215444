/** A duration in Kubernetes' format, e.g. `1m30s`; `durationMs` of src/kube/duration.ts parses it. */
export type Span = string;

/** Settings of `authentication`; docs/options.md describes each. */
export interface KubeletAuthentication {
  readonly x509: KubeletX509Authentication;
  readonly webhook: KubeletWebhookAuthentication;
  readonly anonymous: KubeletAnonymousAuthentication;
}

/** Settings of `authenticationX509`; docs/options.md describes each. */
export interface KubeletX509Authentication {
  readonly clientCAFile?: string;
}

/** Settings of `authenticationWebhook`; docs/options.md describes each. */
export interface KubeletWebhookAuthentication {
  readonly enabled: boolean;
  readonly cacheTTL: Span;
}

/** Settings of `authenticationAnonymous`; docs/options.md describes each. */
export interface KubeletAnonymousAuthentication {
  readonly enabled: boolean;
}

/** Settings of `authorization`; docs/options.md describes each. */
export interface KubeletAuthorization {
  readonly mode: string;
  readonly webhook: KubeletWebhookAuthorization;
}

/** Settings of `authorizationWebhook`; docs/options.md describes each. */
export interface KubeletWebhookAuthorization {
  readonly cacheAuthorizedTTL: Span;
  readonly cacheUnauthorizedTTL: Span;
}

/** Settings of `memorySwap`; docs/options.md describes each. */
export interface MemorySwapConfiguration {
  readonly swapBehavior?: string;
}

/** Settings of `crashLoopBackOff`; docs/options.md describes each. */
export interface CrashLoopBackOffConfig {
  readonly maxContainerRestartPeriod: Span;
}

/** Settings of `userNamespaces`; docs/options.md describes each. */
export interface UserNamespaces {
  readonly idsPerPod?: number;
}

/** Settings of `tracing`; docs/options.md describes each. */
export interface TracingConfiguration {
  readonly endpoint?: string;
  readonly samplingRatePerMillion?: number;
}

/** Settings of `logging`; docs/options.md describes each. */
export interface LoggingConfiguration {
  readonly format: string;
  readonly flushFrequency: Span | number;
  readonly verbosity: number;
  readonly vmodule?: readonly VModuleItem[];
  readonly options: FormatOptions;
}

/** Settings of `loggingOptions`; docs/options.md describes each. */
export interface FormatOptions {
  readonly text: TextOptions;
  readonly json: JSONOptions;
}

/** Settings of `loggingText`; docs/options.md describes each. */
export interface TextOptions {
  readonly splitStream?: boolean;
  readonly infoBufferSize: string;
}

/** Settings of `loggingJson`; docs/options.md describes each. */
export interface JSONOptions {
  readonly splitStream?: boolean;
  readonly infoBufferSize: string;
}

/** Settings of `vmodule`; docs/options.md describes each. */
export interface VModuleItem {
  readonly filePattern?: string;
  readonly verbosity?: number;
}

/** Settings of `shutdownGracePeriodByPodPriority`; docs/options.md describes each. */
export interface ShutdownGracePeriodByPodPriority {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

/** Settings of `reservedMemory`; docs/options.md describes each. */
export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits?: Readonly<Record<string, string>>;
}

/** Settings of `registerWithTaints`; docs/options.md describes each. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

/**
 * The settings of a kubelet, `kubelet.config.k8s.io/v1beta1`, with defaults filled in. `kubeletFields` and docs/options.md describe each.
 */
export interface KubeletConfiguration {
  readonly apiVersion: 'kubelet.config.k8s.io/v1beta1';
  readonly kind: 'KubeletConfiguration';
  readonly enableServer: boolean;
  readonly staticPodPath?: string;
  readonly podLogsDir: string;
  readonly syncFrequency: Span;
  readonly fileCheckFrequency: Span;
  readonly httpCheckFrequency: Span;
  readonly staticPodURL?: string;
  readonly staticPodURLHeader?: Readonly<Record<string, readonly string[]>>;
  readonly address: string;
  readonly port: number;
  readonly readOnlyPort?: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsCipherSuites?: readonly string[];
  readonly tlsCurvePreferences?: readonly number[];
  readonly tlsMinVersion?: string;
  readonly rotateCertificates?: boolean;
  readonly serverTLSBootstrap?: boolean;
  readonly authentication: KubeletAuthentication;
  readonly authorization: KubeletAuthorization;
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  readonly imagePullCredentialsVerificationPolicy: string;
  readonly preloadedImagesVerificationAllowlist?: readonly string[];
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
  readonly enableDebuggingHandlers: boolean;
  readonly enableContentionProfiling?: boolean;
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  readonly oomScoreAdj: number;
  readonly clusterDomain?: string;
  readonly clusterDNS?: readonly string[];
  readonly streamingConnectionIdleTimeout: Span;
  readonly nodeStatusUpdateFrequency: Span;
  readonly nodeStatusReportFrequency: Span;
  readonly nodeLeaseDurationSeconds: number;
  readonly imageMinimumGCAge: Span;
  readonly imageMaximumGCAge: Span;
  readonly imageGCHighThresholdPercent: number;
  readonly imageGCLowThresholdPercent: number;
  readonly volumeStatsAggPeriod: Span;
  readonly kubeletCgroups?: string;
  readonly systemCgroups?: string;
  readonly cgroupRoot?: string;
  readonly cgroupsPerQOS: boolean;
  readonly cgroupDriver: string;
  readonly cpuManagerPolicy: string;
  readonly singleProcessOOMKill?: boolean;
  readonly cpuManagerPolicyOptions?: Readonly<Record<string, string>>;
  readonly cpuManagerReconcilePeriod: Span;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  readonly topologyManagerScope: string;
  readonly topologyManagerPolicyOptions?: Readonly<Record<string, string>>;
  readonly qosReserved?: Readonly<Record<string, string>>;
  readonly runtimeRequestTimeout: Span;
  readonly hairpinMode: string;
  readonly maxPods: number;
  readonly podCIDR?: string;
  readonly podPidsLimit: number;
  readonly resolvConf: string;
  readonly runOnce?: boolean;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriod: Span;
  readonly nodeStatusMaxImages: number;
  readonly maxOpenFiles: number;
  readonly contentType: string;
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls?: number;
  readonly evictionHard?: Readonly<Record<string, string>>;
  readonly evictionSoft?: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  readonly evictionPressureTransitionPeriod: Span;
  readonly evictionMaxPodGracePeriod?: number;
  readonly evictionMinimumReclaim?: Readonly<Record<string, string>>;
  readonly mergeDefaultEvictionSettings: boolean;
  readonly podsPerCore?: number;
  readonly enableControllerAttachDetach: boolean;
  readonly protectKernelDefaults?: boolean;
  readonly makeIPTablesUtilChains: boolean;
  readonly iptablesMasqueradeBit: number;
  readonly iptablesDropBit: number;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly failSwapOn: boolean;
  readonly memorySwap: MemorySwapConfiguration;
  readonly containerLogMaxSize: string;
  readonly containerLogMaxFiles: number;
  readonly containerLogMaxWorkers: number;
  readonly containerLogMonitorInterval: Span;
  readonly configMapAndSecretChangeDetectionStrategy: string;
  readonly systemReserved?: Readonly<Record<string, string>>;
  readonly kubeReserved?: Readonly<Record<string, string>>;
  readonly reservedSystemCPUs?: string;
  readonly showHiddenMetricsForVersion?: string;
  readonly systemReservedCgroup?: string;
  readonly kubeReservedCgroup?: string;
  readonly enforceNodeAllocatable: readonly string[];
  readonly allowedUnsafeSysctls?: readonly string[];
  readonly volumePluginDir: string;
  readonly providerID?: string;
  readonly kernelMemcgNotification?: boolean;
  readonly logging: LoggingConfiguration;
  readonly enableSystemLogHandler: boolean;
  readonly enableSystemLogQuery: boolean;
  readonly shutdownGracePeriod: Span;
  readonly shutdownGracePeriodCriticalPods: Span;
  readonly shutdownGracePeriodByPodPriority?: readonly ShutdownGracePeriodByPodPriority[];
  readonly reservedMemory?: readonly MemoryReservation[];
  readonly enableProfilingHandler: boolean;
  readonly enableDebugFlagsHandler: boolean;
  readonly seccompDefault: boolean;
  readonly memoryThrottlingFactor: number;
  readonly memoryReservationPolicy: string;
  readonly registerWithTaints?: readonly Taint[];
  readonly registerNode: boolean;
  readonly tracing?: TracingConfiguration;
  readonly localStorageCapacityIsolation: boolean;
  readonly containerRuntimeEndpoint: string;
  readonly imageServiceEndpoint?: string;
  readonly failCgroupV1: boolean;
  readonly userNamespaces?: UserNamespaces;
  readonly crashLoopBackOff: CrashLoopBackOffConfig;
}
