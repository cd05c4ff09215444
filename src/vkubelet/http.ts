import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { ApiClient } from '../api/client.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { apiReviews } from '../agent/server-host.ts';
import { nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';
import { alwaysAllow, type Authenticator, type Authorizer } from '../server/access.ts';
import type { ServerHost } from '../server/host.ts';
import { webhookAccess } from '../server/kubelet-server.ts';
import {
  attachHandler,
  attachPodMetricsRoutes as attachMetrics,
  attachPodRoutes as attachPods,
  handlePodStatsSummary,
  podHandler as podsHandler,
  type PodHandler,
} from '../server/pod-routes.ts';
import type { WebhookTimes } from '../server/webhook.ts';
import type { AnyProvider } from './contract.ts';
import { listedOf, runtimeStatusOf } from './pod-status.ts';
import { servedPowers } from './served-powers.ts';

export { instrumentHandler, notFound, notImplemented, type PodHandler } from '../server/pod-routes.ts';

/** Who may call a node's HTTP API. */
export interface NodeAuth {
  readonly authorizer: Authorizer;
  readonly authenticators: readonly Authenticator[];
  /** Whether those without credentials come in as `system:anonymous`. */
  readonly anonymousAuth: boolean;
}

/**
 * Lets everyone in who reaches the address, as virtual-kubelet does without a client authority.
 *
 * @example
 * const options = { auth: noAuth() }; // on the loopback address only
 */
export const noAuth = (): NodeAuth => ({ authorizer: alwaysAllow, authenticators: [], anonymousAuth: true });

/**
 * Asks the API server who a token belongs to and what somebody may do, as the kubelet does.
 *
 * @example
 * const options = { auth: webhookAuth(client) };
 */
export const webhookAuth = (
  client: ApiClient,
  options: { readonly clock?: Clock; readonly times?: Partial<WebhookTimes> } = {},
): NodeAuth => {
  const { authorizer, authenticators = [] } = webhookAccess(
    apiReviews(client),
    options.clock ?? systemClock,
    options.times,
  );
  return { authorizer, authenticators, anonymousAuth: false };
};

/** What routes over a provider may be told; who may call them has no default that lets people in. */
export interface RoutesOptions {
  readonly auth: NodeAuth;
  readonly nodeName?: string;
  /** The pods of the node as Kubernetes has them, for `/pods`; default: the provider's. */
  readonly getPodsFromKubernetes?: () => readonly Pod[];
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/**
 * Mounts `/pods`, `/runningpods/`, `/containerLogs`, `/exec`, `/attach`, `/portForward` and `/run` of a provider on a Node server.
 *
 * Follows virtual-kubelet `AttachPodRoutes`.
 *
 * @example
 * attachPodRoutes(provider, createServer(), { auth: noAuth() });
 */
export function attachPodRoutes(
  provider: AnyProvider,
  server: HttpServer | HttpsServer,
  options: RoutesOptions,
): void {
  attachPods(server, routesOf(provider, options));
}

/**
 * Mounts `/stats/summary` and `/metrics/resource` of a provider on a Node server.
 *
 * @example
 * attachPodMetricsRoutes(provider, server, { auth: noAuth() });
 */
export function attachPodMetricsRoutes(
  provider: AnyProvider,
  server: HttpServer | HttpsServer,
  options: RoutesOptions,
): void {
  attachMetrics(server, routesOf(provider, options));
}

/**
 * Answers what {@link attachPodRoutes} mounts, for a server of one's own.
 *
 * @example
 * mountHandler(server, podHandler(provider, { auth: webhookAuth(client) }));
 */
export const podHandler = (provider: AnyProvider, options: RoutesOptions): PodHandler =>
  podsHandler(routesOf(provider, options));

/**
 * Answers `/stats/summary`.
 *
 * @example
 * const handler = podStatsSummaryHandler(provider, { auth: noAuth() });
 */
export const podStatsSummaryHandler = (provider: AnyProvider, options: RoutesOptions): PodHandler =>
  handlePodStatsSummary(routesOf(provider, options));

/**
 * Mounts any handler on a Node server, upgrades included.
 *
 * @example
 * mountHandler(createServer(), podHandler(provider, options));
 */
export const mountHandler = (
  server: HttpServer | HttpsServer,
  handler: PodHandler,
  logger: Logger = silentLogger,
): void => {
  attachHandler(server, handler, logger);
};

function routesOf(provider: AnyProvider, options: RoutesOptions): Parameters<typeof attachPods>[1] {
  const { auth, clock = systemClock, logger = silentLogger } = options;
  return { host: hostOf(provider, options), ...auth, clock, logger };
}

/** What the kubelet API serves of a provider without an agent: its pods are read from it at each request. */
function hostOf(provider: AnyProvider, options: RoutesOptions): ServerHost {
  const { nodeName = 'virtual-kubelet', clock = systemClock, logger = silentLogger } = options;
  const contextOf = (signal: AbortSignal) => ({ signal, logger });
  const powers = servedPowers(provider, clock, contextOf);
  let last: readonly Pod[] = [];
  const pods = options.getPodsFromKubernetes ?? ((): readonly Pod[] => last);
  const refresh = async (): Promise<readonly Pod[]> =>
    (last = await provider.getPods(contextOf(new AbortController().signal)));
  const statusOf = (pod: Pod) =>
    runtimeStatusOf(
      { uid: uidOf(pod), name: nameOf(pod), namespace: namespaceOf(pod), provider: nodeName, pod },
      pod.status,
    );
  const { readLogs, exec, execSync, attach, portForward, statsSummary, resourceMetrics } = powers;
  void refresh().catch(() => undefined);
  return {
    nodeName,
    pods,
    podByName: (namespace, name) =>
      pods().find((pod) => namespaceOf(pod) === namespace && nameOf(pod) === name),
    podStatus: (uid) => pods().find((pod) => uidOf(pod) === uid)?.status,
    runningPods: async (): Promise<readonly RuntimePod[]> =>
      (await refresh()).map((pod) => listedOf(statusOf(pod))),
    syncLoopFault: () => undefined,
    ...(readLogs && {
      readLog: ({ container, options: log }, sink, signal) => readLogs(container, log, sink, signal),
    }),
    ...(exec && { exec }),
    ...(execSync && { run: (container, command) => execSync(container, command, 600_000) }),
    ...(attach && { attach }),
    ...(portForward && {
      portForward: async (uid, port, stream, signal) => {
        const pod = pods().find((one) => uidOf(one) === uid);
        if (pod) await portForward(statusOf(pod), port, stream, signal);
      },
    }),
    ...(statsSummary && { statsSummary }),
    ...(resourceMetrics && { resourceMetrics }),
  };
}
