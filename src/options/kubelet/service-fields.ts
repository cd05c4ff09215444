import type { Field } from '../field.ts';
import { authenticationType, authorizationType } from './nested-fields.ts';

/** The settings in this table. */
type ServiceSetting =
  | 'enableServer'
  | 'staticPodPath'
  | 'podLogsDir'
  | 'syncFrequency'
  | 'fileCheckFrequency'
  | 'httpCheckFrequency'
  | 'staticPodURL'
  | 'staticPodURLHeader'
  | 'address'
  | 'port'
  | 'readOnlyPort'
  | 'tlsCertFile'
  | 'tlsPrivateKeyFile'
  | 'tlsCipherSuites'
  | 'tlsCurvePreferences'
  | 'tlsMinVersion'
  | 'rotateCertificates'
  | 'serverTLSBootstrap'
  | 'authentication'
  | 'authorization'
  | 'registryPullQPS'
  | 'registryBurst'
  | 'imagePullCredentialsVerificationPolicy'
  | 'preloadedImagesVerificationAllowlist'
  | 'eventRecordQPS'
  | 'eventBurst'
  | 'enableDebuggingHandlers'
  | 'enableContentionProfiling'
  | 'healthzPort'
  | 'healthzBindAddress'
  | 'oomScoreAdj'
  | 'clusterDomain'
  | 'clusterDNS'
  | 'streamingConnectionIdleTimeout'
  | 'nodeStatusUpdateFrequency'
  | 'nodeStatusReportFrequency'
  | 'nodeLeaseDurationSeconds'
  | 'imageMinimumGCAge'
  | 'imageMaximumGCAge'
  | 'imageGCHighThresholdPercent'
  | 'imageGCLowThresholdPercent'
  | 'volumeStatsAggPeriod'
  | 'kubeletCgroups'
  | 'systemCgroups'
  | 'cgroupRoot';

/** Settings of sources, the HTTP API, images, events and the node status. */
export const serviceFields: Readonly<Record<ServiceSetting, Field>> = {
  enableServer: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'enable-server',
    about: 'Serve the kubelet HTTP API.',
  },
  staticPodPath: {
    type: 'string',
    flag: 'pod-manifest-path',
    about: 'Directory or file of static pod manifests.',
  },
  podLogsDir: {
    type: 'string',
    default: '/var/log/pods',
    flag: 'pod-logs-dir',
    allowed: 'an absolute, normalized ASCII path',
    about: 'Directory of container logs.',
  },
  syncFrequency: {
    type: 'duration',
    default: '1m0s',
    flag: 'sync-frequency',
    about: 'Maximum interval between syncs of a pod.',
  },
  fileCheckFrequency: {
    type: 'duration',
    default: '20s',
    flag: 'file-check-frequency',
    about: 'Interval between listings of staticPodPath.',
  },
  httpCheckFrequency: {
    type: 'duration',
    default: '20s',
    flag: 'http-check-frequency',
    about: 'Interval between requests to staticPodURL.',
  },
  staticPodURL: { type: 'string', flag: 'manifest-url', about: 'URL of a static pod manifest.' },
  staticPodURLHeader: {
    type: 'map[string][]string',
    flag: 'manifest-url-header',
    about: 'HTTP headers of the request to staticPodURL.',
  },
  address: {
    type: 'string',
    default: '0.0.0.0',
    flag: 'address',
    about: 'Address that the HTTP API listens on.',
  },
  port: {
    type: 'int32',
    default: 10250,
    flag: 'port',
    allowed: '1 to 65535',
    about: 'Port of the HTTP API.',
  },
  readOnlyPort: {
    type: 'int32',
    flag: 'read-only-port',
    allowed: '0 (off) to 65535',
    about: 'Port of the read-only HTTP API without authentication.',
  },
  tlsCertFile: { type: 'string', flag: 'tls-cert-file', about: 'Serving certificate (PEM).' },
  tlsPrivateKeyFile: {
    type: 'string',
    flag: 'tls-private-key-file',
    about: 'Private key of the serving certificate (PEM).',
  },
  tlsCipherSuites: {
    type: '[]string',
    flag: 'tls-cipher-suites',
    about: "Cipher suites of TLS 1.2, in Go's names.",
  },
  tlsCurvePreferences: {
    type: '[]int32',
    allowed: '23, 24, 25, 29, 4587, 4588, 4589',
    about: "Key exchanges of TLS, by Go's numbers of curves; their order does not count.",
  },
  tlsMinVersion: {
    type: 'string',
    flag: 'tls-min-version',
    allowed: 'VersionTLS12, VersionTLS13',
    about: 'Minimum TLS version.',
  },
  rotateCertificates: {
    type: 'bool',
    flag: 'rotate-certificates',
    about: 'Renew the client certificate before it expires.',
  },
  serverTLSBootstrap: {
    type: 'bool',
    flag: 'rotate-server-certificates',
    about: 'Request the serving certificate from the API server and rotate it.',
  },
  authentication: { type: authenticationType, about: 'Authentication of requests to the HTTP API.' },
  authorization: { type: authorizationType, about: 'Authorization of requests to the HTTP API.' },
  registryPullQPS: {
    type: 'int32',
    default: 5,
    zeroIsSet: true,
    flag: 'registry-qps',
    allowed: '0 (no limit) or more',
    about: 'Image pulls per second.',
  },
  registryBurst: {
    type: 'int32',
    default: 10,
    flag: 'registry-burst',
    allowed: '0 or more',
    about: 'Burst of image pulls above registryPullQPS.',
  },
  imagePullCredentialsVerificationPolicy: {
    type: 'string',
    goType: 'v1beta1.ImagePullCredentialsVerificationPolicy',
    default: 'NeverVerifyPreloadedImages',
    allowed: 'NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages, AlwaysVerify',
    about: 'When a pod must present pull credentials for an image that is already present.',
  },
  preloadedImagesVerificationAllowlist: {
    type: '[]string',
    allowed: 'only with NeverVerifyAllowlistedImages',
    about: 'Images exempt from verification.',
  },
  eventRecordQPS: {
    type: 'int32',
    default: 50,
    zeroIsSet: true,
    flag: 'event-qps',
    allowed: '0 (no limit) or more',
    about: 'Events per second.',
  },
  eventBurst: {
    type: 'int32',
    default: 100,
    flag: 'event-burst',
    allowed: '0 or more',
    about: 'Burst of events above eventRecordQPS.',
  },
  enableDebuggingHandlers: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'enable-debugging-handlers',
    about: 'Serve logs, exec, attach, port-forward and the other handlers of the HTTP API.',
  },
  enableContentionProfiling: {
    type: 'bool',
    flag: 'contention-profiling',
    about: 'Profile lock contention, if profiling is enabled.',
  },
  healthzPort: {
    type: 'int32',
    default: 10248,
    zeroIsSet: true,
    flag: 'healthz-port',
    allowed: '0 (off) to 65535',
    about: 'Port of the health endpoint.',
  },
  healthzBindAddress: {
    type: 'string',
    default: '127.0.0.1',
    flag: 'healthz-bind-address',
    about: 'Address of the health endpoint.',
  },
  oomScoreAdj: {
    type: 'int32',
    default: -999,
    zeroIsSet: true,
    flag: 'oom-score-adj',
    allowed: '-1000 to 1000',
    about: 'oom_score_adj of the agent itself.',
  },
  clusterDomain: { type: 'string', flag: 'cluster-domain', about: 'DNS domain of the cluster.' },
  clusterDNS: { type: '[]string', flag: 'cluster-dns', about: "Addresses of the cluster's DNS servers." },
  streamingConnectionIdleTimeout: {
    type: 'duration',
    default: '4h0m0s',
    flag: 'streaming-connection-idle-timeout',
    about: 'Idle time after which exec, attach and port-forward connections are closed.',
  },
  nodeStatusUpdateFrequency: {
    type: 'duration',
    default: '10s',
    flag: 'node-status-update-frequency',
    about: 'Interval between computations of the node status.',
  },
  nodeStatusReportFrequency: {
    type: 'duration',
    default: '5m0s',
    about:
      'Maximum interval between reports of an unchanged node status; defaults to nodeStatusUpdateFrequency if that is set.',
  },
  nodeLeaseDurationSeconds: {
    type: 'int32',
    default: 40,
    allowed: 'more than 0',
    about: "Life of the node's lease, s.",
  },
  imageMinimumGCAge: {
    type: 'duration',
    default: '2m0s',
    flag: 'minimum-image-ttl-duration',
    allowed: 'not negative',
    about: 'Minimum age of an unused image before it may be removed.',
  },
  imageMaximumGCAge: {
    type: 'duration',
    about: 'Maximum age of an unused image before it is removed; 0s: no maximum.',
  },
  imageGCHighThresholdPercent: {
    type: 'int32',
    default: 85,
    zeroIsSet: true,
    flag: 'image-gc-high-threshold',
    allowed: '0 to 100',
    about: 'Disk usage at which image garbage collection starts, percent.',
  },
  imageGCLowThresholdPercent: {
    type: 'int32',
    default: 80,
    zeroIsSet: true,
    flag: 'image-gc-low-threshold',
    allowed: '0 to 100, below the high threshold',
    about: 'Disk usage at which image garbage collection stops, percent.',
  },
  volumeStatsAggPeriod: {
    type: 'duration',
    default: '1m0s',
    flag: 'volume-stats-agg-period',
    about: 'Interval between measurements of volume usage.',
  },
  kubeletCgroups: {
    type: 'string',
    flag: 'kubelet-cgroups',
    about: 'Cgroup that the agent moves itself into.',
  },
  systemCgroups: {
    type: 'string',
    flag: 'system-cgroups',
    allowed: 'only with cgroupRoot',
    about: 'Cgroup for processes that are not in one.',
  },
  cgroupRoot: { type: 'string', flag: 'cgroup-root', about: "Root cgroup of the pods' cgroups." },
};
