import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { JsonObject } from '../apimachinery/json.ts';
import type { ConnectionLimits } from '../streams/bounded-connections.ts';
import type { TokenUser } from './authentication/users.ts';
import type { SigningTimes } from './controllers/csr-signer.ts';
import type { AuditMode } from './filters/audit.ts';
import type { ServingOptions } from './serving-options.ts';

/** Options of an embedded API server; every one has a default. */
export interface EmbeddedApiServerOptions extends ServingOptions {
  /** Directory of objects and keys; absent: in memory, lost when the server stops. */
  readonly dataDir?: string;
  /** Whether a write is acknowledged only once it is on the disk; without it a crash of the machine may lose some. Default: true. */
  readonly fsync?: boolean;
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Listen address. Default: 127.0.0.1. */
  readonly host?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Bearer tokens in addition to the admin's client certificate. */
  readonly tokens?: readonly TokenUser[];
  /** Whether requests without credentials are served as `system:anonymous`. Default: true. */
  readonly anonymous?: boolean;
  /** Whether pods without a node are bound to a ready one. Default: true. */
  readonly minimalScheduler?: boolean;
  /**
   * The controllers that run beside the server: all, none, or a list as kube-controller-manager takes it (`['*', '-namespace-controller']`), where
   * `none` enables none.
   * Default: true, all.
   */
  readonly controllers?: boolean | readonly string[];
  /** Validity of certificates issued on request. Default: a year. */
  readonly signing?: Partial<SigningTimes>;
  /** Whether `metrics.k8s.io` is served as by metrics-server, for `kubectl top`; kubelets are queried on demand. Default: false. */
  readonly metricsApi?: boolean;
  /** Whether `clustertrustbundles` (v1beta1) are served and pods may project them. Default: false, as with kube-apiserver 1.36. */
  readonly clusterTrustBundles?: boolean;
  /**
   * Whether `/api` and `/apis` answer clients that accept it with the discovery of all groups at once; without it, as before Kubernetes 1.26, each
   * group and version is another request. Default: true.
   */
  readonly aggregatedDiscovery?: boolean;
  /**
   * Whether the service `default/kubernetes` is created, as by kube-apiserver, and made again within 10 seconds when it is changed or
   * deleted. Its address is only reachable with a service proxy on the nodes. Default: true.
   */
  readonly kubernetesService?: boolean;
  /**
   * IP address by which others reach the server: Endpoints and EndpointSlice `default/kubernetes` name it. Absent, or a loopback address:
   * the service has no endpoints.
   */
  readonly advertiseAddress?: string;
  /** IPv4 range of the addresses of services, as a CIDR of 8 to 1,048,576 addresses. Default: `10.97.0.0/16`. */
  readonly serviceClusterIpRange?: string;
  /** Limits on connections, in number and in time. */
  readonly limits?: Partial<ConnectionLimits>;
  /**
   * Whether controllers beside this server act on Deployments, Jobs and the like; without them the creator of such an object receives a
   * warning. Default: false.
   */
  readonly externalControllers?: boolean;
  /** Whether nodes have a proxy for Services; without one the creator of a Service receives a warning. Default: true. */
  readonly serviceProxy?: boolean;
  /** Names of admission plug-ins to disable, as with kube-apiserver: `ServiceAccount`, `LimitRanger`. Default: none. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** Receives audit events (`audit.k8s.io/v1`), and throws when it cannot record one; absent: no auditing. */
  readonly audit?: (event: JsonObject) => void;
  /**
   * A Policy of `audit.k8s.io/v1`, as an object, that says which requests are recorded, at which level and at which stages. Default: each
   * answered request, at the level Metadata.
   */
  readonly auditPolicy?: JsonObject;
  /**
   * What becomes of a request whose audit event cannot be recorded as it is received, since `audit` throws: with `blocking` it is served
   * all the same, with `blocking-strict` it is rejected. Default: `blocking`.
   */
  readonly auditMode?: AuditMode;
  /** Number of changes of each kind that are retained for watches. Default: 10000. */
  readonly history?: number;
}
