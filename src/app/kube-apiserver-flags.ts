import type { FlagTable } from './go-flags.ts';

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Flags of kube-apiserver 1.36 that this API server follows. */
const followed = words(`
  advertise-address audit-log-mode audit-log-path audit-policy-file authorization-mode
  authorization-policy-file authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
  authorization-webhook-config-file authorization-webhook-version bind-address cert-dir client-ca-file disable-admission-plugins
  enable-admission-plugins endpoint-reconciler-type etcd-prefix etcd-servers feature-gates requestheader-allowed-names requestheader-client-ca-file
  requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers
  requestheader-username-headers secure-port service-account-issuer service-account-key-file
  service-account-signing-key-file service-cluster-ip-range tls-cert-file tls-private-key-file token-auth-file v
`);

/** Flags with another authority over users or requests: without them the server would be open to other people. */
export const unsupported: readonly string[] = words(`
  authentication-config authentication-token-webhook-config-file authorization-config
  encryption-provider-config oidc-ca-file oidc-client-id oidc-groups-claim
  oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs oidc-username-claim oidc-username-prefix
  service-account-signing-endpoint
`);

/** Flags that are accepted and have no effect here: they tune parts that this server does not have. */
const ignored = words(`
  admission-control-config-file allow-metric-labels allow-metric-labels-manifest api-audiences
  apiserver-count audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait
  audit-log-batch-throttle-burst audit-log-batch-throttle-qps audit-log-format audit-log-maxage audit-log-maxbackup
  audit-log-maxsize audit-log-truncate-max-batch-size audit-log-truncate-max-event-size
  audit-log-version audit-webhook-batch-buffer-size audit-webhook-batch-max-size
  audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-qps
  audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-max-batch-size
  audit-webhook-truncate-max-event-size audit-webhook-version authentication-token-webhook-cache-ttl
  authentication-token-webhook-version coordinated-leadership-lease-duration
  coordinated-leadership-renew-deadline coordinated-leadership-retry-period cors-allowed-origins debug-socket-path
  default-not-ready-toleration-seconds default-unreachable-toleration-seconds default-watch-cache-size
  delete-collection-workers disabled-metrics egress-selector-config-file emulated-version
  etcd-cafile etcd-certfile etcd-compaction-interval etcd-count-metric-poll-period etcd-db-metric-poll-interval
  etcd-healthcheck-timeout etcd-keyfile etcd-readycheck-timeout etcd-servers-overrides event-ttl external-hostname
  goaway-chance http2-max-streams-per-connection identity-lease-duration-seconds
  identity-lease-renew-interval-seconds kubelet-certificate-authority kubelet-client-certificate kubelet-client-key
  kubelet-port kubelet-preferred-address-types kubelet-read-only-port kubelet-timeout kubernetes-service-node-port
  lease-reuse-duration-seconds livez-grace-period log-flush-frequency log-json-info-buffer-size
  log-text-info-buffer-size logging-format max-connection-bytes-per-sec max-mutating-requests-inflight
  max-requests-inflight min-request-timeout peer-advertise-ip peer-advertise-port peer-ca-file proxy-client-cert-file
  proxy-client-key-file request-timeout runtime-config service-account-jwks-uri service-account-max-token-expiration
  service-node-port-range show-hidden-metrics-for-version shutdown-delay-duration
  shutdown-watch-termination-grace-period storage-backend storage-initialization-timeout storage-media-type
  strict-transport-security-directives tls-cipher-suites tls-min-version tls-sni-cert-key tracing-config-file vmodule
  watch-cache-sizes
`);

/** Every flag that the launcher `kube-apiserver` takes. */
export const kubeApiServerFlags: FlagTable = {
  values: [...followed, ...unsupported, ...ignored],
  booleans: words(`
    aggregator-reject-forwarding-redirects allow-privileged anonymous-auth audit-log-batch-throttle-enable
    audit-log-compress audit-log-truncate-enabled audit-webhook-batch-throttle-enable audit-webhook-truncate-enabled
    contention-profiling disable-http2-serving emulation-forward-compatible enable-aggregator-routing
    enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler enable-priority-and-fairness
    encryption-provider-config-automatic-reload log-json-split-stream log-text-split-stream permit-address-sharing
    permit-port-sharing profiling runtime-config-emulation-forward-compatible
    service-account-extend-token-expiration service-account-lookup shutdown-send-retry-after watch-cache help version
  `),
};

/** Every flag that the launcher `etcd` takes. */
export const etcdFlags: FlagTable = {
  values: words(`
    advertise-client-urls auth-token auto-compaction-mode auto-compaction-retention backend-batch-interval
    backend-batch-limit backend-bbolt-freelist-type bcrypt-cost cert-file cipher-suites client-cert-allowed-hostname
    client-crl-file compaction-batch-limit config-file corrupt-check-time cors data-dir discovery election-timeout
    grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout heartbeat-interval host-whitelist
    initial-advertise-peer-urls initial-cluster initial-cluster-state initial-cluster-token key-file
    listen-client-http-urls listen-client-urls listen-metrics-urls listen-peer-urls log-format log-level log-outputs
    logger max-concurrent-streams max-request-bytes max-snapshots max-txn-ops max-wals metrics name peer-cert-file
    peer-key-file peer-trusted-ca-file quota-backend-bytes snapshot-count trusted-ca-file wal-dir
    warning-apply-duration warning-unary-request-duration feature-gates
  `),
  booleans: words(`
    auto-tls client-cert-auth enable-grpc-gateway enable-pprof enable-v2 force-new-cluster initial-election-tick-advance
    peer-auto-tls peer-client-cert-auth pre-vote socket-reuse-address socket-reuse-port strict-reconfig-check
    unsafe-no-fsync help version
  `),
};
