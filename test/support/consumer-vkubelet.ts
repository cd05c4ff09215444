/** Uses every name of `podtender/vkubelet`'s contract as a ported provider does (compiled by test/e2e/package.test.ts). */
import { Duplex, Readable } from 'node:stream';
import type { ApiClient, ApiConnection, EventRecorder, Logger } from '../../src/index.ts';
import {
  asInvalidInput,
  asNotFound,
  attachMetricsRoutes,
  type AttachIO,
  attachPodMetricsRoutes,
  attachPodRoutes,
  conflict,
  type ContainerLogOpts,
  type Context,
  defaultLeaseDuration,
  defaultPingInterval,
  defaultRenewIntervalFraction,
  defaultStatusUpdateInterval,
  instrumentHandler,
  invalidInput,
  InvalidInputError,
  isInvalidInput,
  isNotFound,
  metricsSummaryHandler,
  NaiveNodeProvider,
  NaiveNodeProviderV2,
  newNode,
  noAuth,
  type Node,
  type NodeConfig,
  NodeController,
  type NodeOpt,
  type NodeProvider,
  notFound,
  NotFoundError,
  notFoundError,
  notImplemented,
  patchNodeStatus,
  permanent,
  type Pod,
  PodController,
  type PodControllerConfig,
  podHandler,
  type PodLifecycleHandler,
  type PodNotifier,
  podStatsSummaryHandler,
  type PodStatus,
  type Provider,
  type ProviderConfig,
  ReasonFailedToReadMandatoryConfigMap,
  ReasonFailedToReadMandatorySecret,
  ReasonFailedToReadOptionalConfigMap,
  ReasonFailedToReadOptionalSecret,
  ReasonInvalidEnvironmentVariableNames,
  ReasonMandatoryConfigMapKeyNotFound,
  ReasonMandatoryConfigMapNotFound,
  ReasonMandatorySecretKeyNotFound,
  ReasonMandatorySecretNotFound,
  ReasonOptionalConfigMapKeyNotFound,
  ReasonOptionalConfigMapNotFound,
  ReasonOptionalSecretKeyNotFound,
  ReasonOptionalSecretNotFound,
  ResourceManager,
  Server,
  type ServerConfig,
  type StatsSummary,
  throttled,
  type TlsOptions,
  unavailable,
  updateNodeLease,
  updateNodeStatus,
  type VirtualNode,
  webhookAuth,
  withNodeDisableLease,
  withNodeEnableLeaseV1,
  withNodeEnableLeaseV1WithRenewInterval,
  withNodeLease,
  withNodePingInterval,
  withNodePingTimeout,
  withNodeStatusUpdateErrorHandler,
  withNodeStatusUpdateInterval,
} from '../../src/vkubelet/index.ts';

/** The six methods, with the parameters of a port from Go. */
export class Minimal implements PodLifecycleHandler, PodNotifier {
  readonly pods = new Map<string, Pod>();
  createPod(pod: Pod, context: Context): Promise<void> {
    context.logger.info('created', { aborted: context.signal.aborted });
    this.pods.set(pod.metadata?.name ?? '', pod);
    return Promise.resolve();
  }
  updatePod(pod: Pod, context: Context): Promise<void> {
    return this.createPod(pod, context);
  }
  deletePod(pod: Pod, _context: Context): Promise<void> {
    if (!this.pods.delete(pod.metadata?.name ?? '')) return Promise.reject(notFoundError('no such pod'));
    return Promise.resolve();
  }
  getPod(_namespace: string, name: string, _context: Context): Promise<Pod | undefined> {
    return Promise.resolve(this.pods.get(name));
  }
  getPodStatus(_namespace: string, name: string, _context: Context): Promise<PodStatus | undefined> {
    return Promise.resolve(this.pods.get(name)?.status);
  }
  getPods(_context: Context): Promise<readonly Pod[]> {
    return Promise.resolve([...this.pods.values()]);
  }
  notifyPods(notify: (pod: Pod) => void, _context: Context): void {
    for (const pod of this.pods.values()) notify(pod);
  }
}

/** Everything that a node serves. */
export class Whole extends Minimal implements Provider {
  getContainerLogs(
    _namespace: string,
    _pod: string,
    _container: string,
    options: ContainerLogOpts,
    _context: Context,
  ): Promise<Readable> {
    return Promise.resolve(Readable.from(['line\n'].slice(0, options.tail)));
  }
  runInContainer(
    _namespace: string,
    _pod: string,
    _container: string,
    command: readonly string[],
    io: AttachIO,
    _context: Context,
  ): Promise<void> {
    io.stdout?.write(command.join(' '));
    return Promise.resolve();
  }
  attachToContainer(
    _namespace: string,
    _pod: string,
    _container: string,
    io: AttachIO,
    _context: Context,
  ): Promise<void> {
    if (io.tty) io.stdin?.resume();
    return Promise.resolve();
  }
  getStatsSummary(_context: Context): Promise<StatsSummary> {
    return Promise.resolve({ node: { nodeName: 'n' }, pods: [] });
  }
  getMetricsResource(_context: Context): Promise<string> {
    return Promise.resolve('# EOF\n');
  }
  portForward(
    _namespace: string,
    _pod: string,
    port: number,
    stream: Duplex,
    _context: Context,
  ): Promise<void> {
    stream.end(String(port));
    return Promise.resolve();
  }
}

export class Pinged implements NodeProvider {
  ping(context: Context): Promise<void> {
    context.signal.throwIfAborted();
    return Promise.resolve();
  }
  notifyNodeStatus(notify: (node: Node) => void, _context: Context): void {
    notify({ metadata: { name: 'n' } });
  }
}

declare const client: ApiClient;
declare const connection: ApiConnection;
declare const eventRecorder: EventRecorder;
declare const logger: Logger;
declare const tls: TlsOptions;

/** Functional options, one that changes the configuration in place and one that returns another. */
const inPlace: NodeOpt = (config) => {
  const all: NodeConfig = {
    ...{
      connection,
      client,
      kubeconfigPath: '/k',
      nodeSpec: { metadata: { name: 'n' } },
      tls,
      eventRecorder,
    },
    ...{ httpListenAddr: ':0', streamIdleTimeout: 1, streamCreationTimeout: 1, informerResyncPeriod: 1 },
    ...{ debugHTTP: true, numWorkers: 1, skipDownwardAPIResolution: true },
    nodeStatusUpdateErrorHandler: (error: unknown) =>
      Promise.reject(new Error('updates fail', { cause: error })),
    handler: instrumentHandler(podHandler(new Whole(), { auth: noAuth() }), (_request, next) => next()),
  };
  Object.assign(config, all);
};
const another: NodeOpt = (config) => ({ ...config, logger });

export async function run(signal: AbortSignal): Promise<unknown> {
  const make = (config: ProviderConfig): [Provider, NodeProvider?] => {
    config.node.status.capacity = { pods: '10' };
    config.pods.list('default');
    config.services.get('default', 'web');
    return [new Whole(), new Pinged()];
  };
  const node: VirtualNode = newNode('n', make, inPlace, another);
  void node.run(signal);
  await node.ready;
  await node.waitReady(signal);
  await node.done;
  const { podController, nodeController, address } = node;
  const address2: { readonly host: string; readonly port: number } = address;
  return [podController.ready, nodeController.ready, address2, node.err];
}

/** Controllers by themselves, with every option. */
export function controllers(pods: PodControllerConfig, node: Node): readonly [PodController, NodeController] {
  const options = [
    withNodePingInterval(defaultPingInterval),
    withNodePingTimeout(1000),
    withNodeStatusUpdateInterval(defaultStatusUpdateInterval),
    withNodeStatusUpdateErrorHandler(() => undefined),
    withNodeEnableLeaseV1(client, defaultLeaseDuration),
    withNodeDisableLease(),
    withNodeEnableLeaseV1WithRenewInterval(client, 40, 40_000 * defaultRenewIntervalFraction),
    withNodeDisableLease(true),
    withNodeLease(client),
  ];
  const nodes = new NodeController(new NaiveNodeProvider(), node, client, ...options);
  return [new PodController(pods), nodes];
}

/** The first releases. */
export async function firstRelease(config: ServerConfig, lister: ProviderConfig): Promise<void> {
  const manager = new ResourceManager(lister);
  const server = new Server({ ...config, nodeName: 'n', provider: new Minimal(), resourceManager: manager });
  void server.run(AbortSignal.timeout(1));
  await server.ready;
}

export const errors: readonly Error[] = [
  new NotFoundError('a', { cause: new Error('b') }),
  new InvalidInputError('a'),
  notFoundError('a'),
  invalidInput('a'),
  unavailable('a'),
  throttled('a', 1000),
  permanent('a'),
  conflict('a'),
];
export const kinds: readonly unknown[] = [
  ...[isNotFound(errors[0]), isInvalidInput(errors[1])],
  ...[asNotFound(errors[0]), asInvalidInput(errors[1])],
];
export const served: readonly unknown[] = [
  ...[attachPodRoutes, attachMetricsRoutes, attachPodMetricsRoutes, metricsSummaryHandler],
  ...[podStatsSummaryHandler, notFound, notImplemented, webhookAuth(client), new NaiveNodeProviderV2()],
  ...[patchNodeStatus, updateNodeLease, updateNodeStatus],
];
export const reasons: readonly string[] = [
  ReasonOptionalConfigMapNotFound,
  ReasonOptionalConfigMapKeyNotFound,
  ReasonFailedToReadOptionalConfigMap,
  ReasonOptionalSecretNotFound,
  ReasonOptionalSecretKeyNotFound,
  ReasonFailedToReadOptionalSecret,
  ReasonMandatoryConfigMapNotFound,
  ReasonMandatoryConfigMapKeyNotFound,
  ReasonFailedToReadMandatoryConfigMap,
  ReasonMandatorySecretNotFound,
  ReasonMandatorySecretKeyNotFound,
  ReasonFailedToReadMandatorySecret,
  ReasonInvalidEnvironmentVariableNames,
];
