import type { ApiClient } from '../api/client.ts';
import type { SharedInformers } from '../api/cache/shared-informers.ts';
import {
  configMapResource,
  podResource,
  type Resource,
  secretResource,
  serviceResource,
} from '../api/resources.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Tracer } from '../base/tracing.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { ConfigMap, KubeObject, Node, Pod, Secret, Service } from '../kube/types.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { AnyProvider, Lister, MutableNode, NodeProvider, ProviderConfig } from './contract.ts';
import { invalidInput } from './errors.ts';
import type { PodHandler } from '../server/pod-routes.ts';
import type { NodeAuth } from './http.ts';
import type { ErrorHandler } from './node-controller-options.ts';
import type { PodControllerConfig } from './pod-controller.ts';

/** Certificate and key of the HTTPS server: PEM, or files that are looked at again and again. */
export interface TlsOptions {
  readonly cert?: string;
  readonly key?: string;
  /** Whose client certificates are believed. */
  readonly clientCa?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly clientCaFile?: string;
}

/** How a node is put together. */
export interface NodeConfig extends Pick<
  PodControllerConfig,
  'lostPods' | 'listPeriodMs' | 'periods' | 'sources'
> {
  connection?: ApiConnection;
  client?: ApiClient;
  /** Default: `$KUBECONFIG`, else the credentials of the pod that this runs in. */
  kubeconfigPath?: string;
  /** The Node as it will be registered. */
  nodeSpec: Node;
  /** Default `:10250`; `:0` takes any port; `''`: there is no HTTP server. */
  httpListenAddr?: string;
  /** Answers every request of the HTTP server in place of the kubelet's paths and `auth`, such as a wrapped `podHandler`. */
  handler?: PodHandler;
  tls?: TlsOptions;
  /** Who may call the HTTP API. Default: client certificates and tokens that the API server reviews. */
  auth?: NodeAuth;
  /** ms */
  streamIdleTimeout?: number;
  /** ms */
  streamCreationTimeout?: number;
  /** How often the pods of a provider that notifies are listed all the same, ms. Default 1 min. */
  informerResyncPeriod?: number;
  /** Address of an HTTP server without authentication for health, pods, statistics and metrics; default: none. */
  metricsAddr?: string;
  /** Serves logs, exec, attach and port-forward. Default true. */
  debugHTTP?: boolean;
  eventRecorder?: EventRecorder;
  /** Kept for those who set it: each pod has a worker of its own. */
  numWorkers?: number;
  nodeStatusUpdateErrorHandler?: ErrorHandler;
  skipDownwardAPIResolution?: boolean;
  /** Names the provider in container IDs and messages. */
  providerName?: string;
  clock?: Clock;
  random?: Random;
  logger?: Logger;
  tracer?: Tracer;
}

/** Changes a node's configuration, in place or by returning another. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- the shape that authors of options know
export type NodeOpt = (config: NodeConfig) => NodeConfig | void;

/** Makes the provider of a node; without a node provider the node is ready when its controllers are. */
export type NewProviderFunc = (config: ProviderConfig) => CreatedProvider | Promise<CreatedProvider>;

/** A provider, and the node's side of it. */
export type CreatedProvider = readonly [AnyProvider | PodProvider, NodeProvider?];

/**
 * Replaces the whole configuration.
 *
 * @example
 * newNode('rooms', newProvider, withNodeConfig({ ...config, numWorkers: 20 }));
 */
export const withNodeConfig =
  (config: NodeConfig): NodeOpt =>
  () =>
    config;

/**
 * Sets the client of the API server.
 *
 * @example
 * newNode('rooms', newProvider, withClient(client));
 */
export const withClient =
  (client: ApiClient): NodeOpt =>
  (config) => {
    config.client = client;
  };

/**
 * Sets the certificate of the HTTPS server.
 *
 * @example
 * newNode('rooms', newProvider, withTLSConfig({ cert, key }));
 */
export const withTLSConfig =
  (tls: TlsOptions): NodeOpt =>
  (config) => {
    config.tls = { ...config.tls, ...tls };
  };

/** The Node of a name as virtual-kubelet registers it unless its provider says more. */
export const defaultNode = (name: string): MutableNode => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    labels: {
      type: 'virtual-kubelet',
      'kubernetes.io/role': 'agent',
      'kubernetes.io/hostname': name,
    },
    annotations: {},
  },
  spec: {},
  status: {
    conditions: ['Ready', 'DiskPressure', 'MemoryPressure', 'PIDPressure', 'NetworkUnavailable'].map(
      (type) => ({
        type,
        status: 'False',
      }),
    ),
  },
});

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `host:port` as Go takes it. @throws {InvalidInputError} */
export function listenAddress(text: string): Address {
  const at = text.lastIndexOf(':');
  const port = Number(text.slice(at + 1));
  if (at < 0 || text.slice(at + 1) === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw invalidInput(
      `http listen address ${JSON.stringify(text)}: write it as host:port or :port, such as :10250`,
    );
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port };
}

/** What a node has whose provider says nothing of it. */
const defaultCapacity: Readonly<Record<string, string>> = { cpu: '64', memory: '256Gi', pods: '1000' };

/** Gives a node capacity where its provider gave none. */
export function withCapacity(node: MutableNode): void {
  if (Object.keys(node.status.capacity ?? {}).length === 0) node.status.capacity = defaultCapacity;
  node.status.allocatable ??= node.status.capacity ?? defaultCapacity;
}

/** What a provider is made with; an informer begins with the first look-up. */
export function providerConfig(
  nodeName: string,
  informers: SharedInformers,
  node: MutableNode,
): ProviderConfig {
  const lister = <T extends KubeObject>(resource: Resource, fieldSelector?: string): Lister<T> => {
    let created: ReturnType<typeof informers.informer<T>> | undefined;
    const informer = () =>
      (created ??= informers.informer<T>(resource, fieldSelector === undefined ? {} : { fieldSelector }));
    return {
      get: (namespace, name) => informer().store.get(`${namespace}/${name}`),
      list: (namespace) =>
        informer()
          .store.list()
          .filter(({ metadata }) => namespace === undefined || metadata?.namespace === namespace),
    };
  };
  return {
    nodeName,
    pods: lister<Pod>(podResource, `spec.nodeName=${nodeName}`),
    configMaps: lister<ConfigMap>(configMapResource),
    secrets: lister<Secret>(secretResource),
    services: lister<Service>(serviceResource),
    node,
  };
}
