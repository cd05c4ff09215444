import type { ApiClient } from '../api/client.ts';
import { ResourceClient } from '../api/resource-client.ts';
import { leaseResource, nodeResource } from '../api/resources.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Lease, Node } from '../kube/types.ts';
import type { LeaseClient, NodeClient } from '../node/clients.ts';
import { nodeLeaseNamespace } from '../node/node-controller.ts';

/** Between two pings of the provider, ms. */
export const defaultPingInterval = 10_000;
/** Between two reports of an unchanged node status beside a lease, ms. */
export const defaultStatusUpdateInterval = 60_000;
/** How long a lease lasts, seconds. */
export const defaultLeaseDuration = 40;
/** The part of a lease's duration after which it is renewed. */
export const defaultRenewIntervalFraction = 0.25;
/** Between two pings in the first releases, ms. */
export const firstReleasePingInterval = 5000;

/** Takes an error of a status update: resolves when it was dealt with and the update may be tried again, rejects to end the controller. */
export type ErrorHandler = (error: unknown) => void | Promise<void>;

/** What the options of a node controller set. */
export interface NodeControllerSettings {
  pingIntervalMs: number;
  pingTimeoutMs?: number;
  statusIntervalMs: number;
  lease?: {
    readonly client: LeaseClient;
    readonly durationSeconds: number;
    readonly renewIntervalMs: number;
  };
  onStatusUpdateError?: ErrorHandler;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Sets one thing of a node controller; of two that set the same the last one wins. */
export type NodeControllerOpt = (settings: NodeControllerSettings) => void;

/**
 * How often the provider is pinged, ms. Default 10 s.
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodePingInterval(10_000));
 */
export const withNodePingInterval =
  (ms: number): NodeControllerOpt =>
  (settings) => {
    settings.pingIntervalMs = ms;
  };

/**
 * How long a ping may take, ms, before it counts as failed. Default: for ever.
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodePingTimeout(5000));
 */
export const withNodePingTimeout =
  (ms: number): NodeControllerOpt =>
  (settings) => {
    settings.pingTimeoutMs = ms;
  };

/**
 * How often an unchanged status is reported beside a lease, ms. Default 1 min; without a lease it is reported with each ping.
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodeStatusUpdateInterval(60_000));
 */
export const withNodeStatusUpdateInterval =
  (ms: number): NodeControllerOpt =>
  (settings) => {
    settings.statusIntervalMs = ms;
  };

/**
 * Deals with errors of status updates, a Node that was deleted for example.
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodeStatusUpdateErrorHandler((error) => console.error(error)));
 */
export const withNodeStatusUpdateErrorHandler =
  (handler: ErrorHandler): NodeControllerOpt =>
  (settings) => {
    settings.onStatusUpdateError = handler;
  };

/**
 * Keeps a lease. @param durationSeconds 0 or absent: 40
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodeEnableLeaseV1(client, 40));
 */
export const withNodeEnableLeaseV1 = (
  client: ApiClient | LeaseClient,
  durationSeconds = 0,
): NodeControllerOpt => {
  const seconds = durationSeconds === 0 ? defaultLeaseDuration : durationSeconds;
  return withNodeEnableLeaseV1WithRenewInterval(
    client,
    seconds,
    Math.floor(seconds * defaultRenewIntervalFraction) * 1000,
  );
};

/**
 * Keeps a lease that is renewed each `renewIntervalMs`. @throws when two options set a lease
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodeEnableLeaseV1WithRenewInterval(client, 40, 10_000));
 */
export const withNodeEnableLeaseV1WithRenewInterval =
  (client: ApiClient | LeaseClient, durationSeconds: number, renewIntervalMs: number): NodeControllerOpt =>
  (settings) => {
    if (settings.lease)
      throw new AgentError(
        'invalid_argument',
        'Multiple, conflicting lease configurations have been put into place',
      );
    const seconds = durationSeconds === 0 ? defaultLeaseDuration : durationSeconds;
    if (renewIntervalMs <= 0 || renewIntervalMs >= seconds * 1000)
      throw new AgentError(
        'invalid_argument',
        `the lease of ${seconds} s is renewed each ${renewIntervalMs} ms: the interval must be between 0 and the duration`,
      );
    settings.lease = { client: leasesOf(client), durationSeconds: seconds, renewIntervalMs };
  };

/**
 * The first releases' name: no lease; the status is reported with each ping.
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodeDisableLease());
 */
export const withNodeDisableLease =
  (disable = true): NodeControllerOpt =>
  (settings) => {
    if (disable) delete settings.lease;
  };

/**
 * The first releases' name of {@link withNodeEnableLeaseV1}; a base lease may say how long it lasts.
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodeLease(client));
 */
export const withNodeLease = (client: ApiClient | LeaseClient, base?: Lease): NodeControllerOpt =>
  withNodeEnableLeaseV1(client, base?.spec?.leaseDurationSeconds ?? 0);

/**
 * Clock, chance and log of a node controller, for tests and embedding.
 *
 * @example
 * new NodeController(nodeProvider, node, nodes, withNodeDeps({ clock: new FakeClock() }));
 */
export const withNodeDeps =
  (deps: Partial<Pick<NodeControllerSettings, 'clock' | 'random' | 'logger'>>): NodeControllerOpt =>
  (settings) => {
    Object.assign(settings, deps);
  };

const leasesOf = (client: ApiClient | LeaseClient): LeaseClient =>
  isApiClient(client) ? new ResourceClient<Lease>(client, leaseResource, nodeLeaseNamespace) : client;
/** The Nodes of a client. */
export const nodesOf = (client: ApiClient | NodeClient): NodeClient =>
  isApiClient(client) ? new ResourceClient<Node>(client, nodeResource) : client;
const isApiClient = (client: object): client is ApiClient =>
  !(client instanceof ResourceClient) && 'watch' in client && 'list' in client;
