import type { Duplex, Readable, Writable } from 'node:stream';
import type { Logger } from '../base/logger.ts';
import type { ConfigMap, Node, Pod, PodStatus, Secret, Service } from '../kube/types.ts';
import type { PodCapabilities } from '../provider/capabilities.ts';

/** What a provider's method is given as its last parameter, in place of Go's `context.Context`. */
export interface Context {
  /** Aborts when the call is out of date: its deadline is over, or the agent ends. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/**
 * The least that a virtual-kubelet provider implements. What it is given and what it returns is never written to by the agent; it gets
 * copies, so it may write to them.
 *
 * Errors say by their kind what to do ({@link unavailable}, {@link throttled}, {@link permanent} …); an error without a kind counts as one that passes.
 */
export interface PodLifecycleHandler {
  /** Deploys a pod. Called again until it resolves, unless the error is permanent; a pod of the same UID may be there already. */
  createPod(pod: Pod, context: Context): Promise<void>;
  /** Brings a pod that was created to another spec, for changes that a kubelet would act on. */
  updatePod(pod: Pod, context: Context): Promise<void>;
  /**
   * Stops and removes a pod: `metadata.deletionGracePeriodSeconds` is the grace that it has. Need not wait for the end. May be called
   * several times; a pod that is not there is deleted ({@link notFoundError}).
   */
  deletePod(pod: Pod, context: Context): Promise<void>;
  /** The pod of a name, or nothing ({@link notFoundError} is the same). */
  getPod(namespace: string, name: string, context: Context): Promise<Pod | undefined>;
  /** The status of a pod, or nothing when there is no such pod. An error says nothing about the pod. */
  getPodStatus(namespace: string, name: string, context: Context): Promise<PodStatus | undefined>;
  /** Every pod of this node that the provider has. An error is never "none". */
  getPods(context: Context): Promise<readonly Pod[]>;
  /** What pods may ask for here; a pod that asks for more is refused at admission by name. Default: everything. */
  readonly capabilities?: PodCapabilities;
}

/** For providers that know when a pod changes; others are polled every 5 s. */
export interface PodNotifier {
  /** Registers the callback and returns. It is to be called with a pod whose status has changed; calls for one pod come in order. */
  notifyPods(notify: (pod: Pod) => void, context: Context): void;
}

/** The node's side of a provider. */
export interface NodeProvider {
  /** Resolves while the provider can run pods; the node is NotReady when it rejects, and the message says why. */
  ping(context: Context): Promise<void>;
  /** Registers a callback for the node's status, labels and annotations as the provider sees them. */
  notifyNodeStatus(notify: (node: Node) => void, context: Context): void;
}

/** Options of a log read. */
export interface ContainerLogOpts {
  readonly tail?: number;
  readonly limitBytes?: number;
  readonly timestamps?: boolean;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly sinceSeconds?: number;
  readonly sinceTime?: Date;
}

/** The size of a terminal in characters. */
export interface TermSize {
  readonly width: number;
  readonly height: number;
}

/** The streams of an exec or attach; an absent one was not asked for. */
export interface AttachIO {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  readonly tty: boolean;
  readonly resize?: AsyncIterable<TermSize>;
}

/** `stats/v1alpha1` Summary: node and pods with what they use. */
export type StatsSummary = object;

/** A provider with everything that a node serves; what is optional here is answered with 501 when it is absent. */
export interface Provider extends PodLifecycleHandler {
  getContainerLogs(
    namespace: string,
    pod: string,
    container: string,
    options: ContainerLogOpts,
    context: Context,
  ): Promise<Readable>;
  /** Runs a command to its end; rejects with {@link exitError} when its exit code is not 0. */
  runInContainer(
    namespace: string,
    pod: string,
    container: string,
    command: readonly string[],
    io: AttachIO,
    context: Context,
  ): Promise<void>;
  attachToContainer(
    namespace: string,
    pod: string,
    container: string,
    io: AttachIO,
    context: Context,
  ): Promise<void>;
  getStatsSummary(context: Context): Promise<StatsSummary>;
  /** Metrics in the Prometheus text format. */
  getMetricsResource(context: Context): Promise<string>;
  portForward(namespace: string, pod: string, port: number, stream: Duplex, context: Context): Promise<void>;
  /** Sets what the node has: capacity, addresses, conditions, labels. Called once before the node is registered. */
  configureNode?(node: Node, context: Context): void | Promise<void>;
}

/** A provider of whatever size: six methods and any of the others. */
export type AnyProvider = PodLifecycleHandler &
  Partial<Omit<Provider, keyof PodLifecycleHandler>> &
  Partial<PodNotifier>;

/** Reads one kind of objects from the agent's cache. */
export interface Lister<T> {
  get(namespace: string, name: string): T | undefined;
  list(namespace?: string): readonly T[];
}

/** What a provider is made with. */
export interface ProviderConfig {
  readonly nodeName: string;
  readonly pods: Lister<Pod>;
  readonly configMaps: Lister<ConfigMap>;
  readonly secrets: Lister<Secret>;
  readonly services: Lister<Service>;
  /** The node as it will be registered; may be changed in place until the provider is returned. */
  readonly node: MutableNode;
}

/** A node that is still being written. */
export interface MutableNode extends Node {
  metadata: NonNullable<Node['metadata']> & {
    labels: Record<string, string>;
    annotations: Record<string, string>;
  };
  spec: { -readonly [K in keyof NonNullable<Node['spec']>]: NonNullable<Node['spec']>[K] };
  status: { -readonly [K in keyof NonNullable<Node['status']>]: NonNullable<Node['status']>[K] };
}

/**
 * Always healthy, never changes.
 *
 * @example
 * new NodeController(new NaiveNodeProvider(), node, nodes);
 */
export class NaiveNodeProvider implements NodeProvider {
  ping(context: Context): Promise<void> {
    context.signal.throwIfAborted();
    return Promise.resolve();
  }

  notifyNodeStatus(): void {
    // its status never changes
  }
}

/**
 * Always healthy; its status is what {@link updateStatus} was given last.
 *
 * @example
 * new NodeController(new NaiveNodeProviderV2(), node, nodes);
 */
export class NaiveNodeProviderV2 extends NaiveNodeProvider {
  readonly #registered = Promise.withResolvers<(node: Node) => void>();

  override notifyNodeStatus(notify?: (node: Node) => void): void {
    if (notify) this.#registered.resolve(notify);
  }

  /** Sends a status to the node controller; waits until there is one. */
  async updateStatus(node: Node, signal?: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => {
      aborted.reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    try {
      const notify = await Promise.race([this.#registered.promise, aborted.promise]);
      notify(node);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }
}

/**
 * Makes a {@link NaiveNodeProviderV2}.
 *
 * @example
 * new NodeController(newNaiveNodeProvider(), node, nodes);
 */
export const newNaiveNodeProvider = (): NaiveNodeProviderV2 => new NaiveNodeProviderV2();

/**
 * How `runInContainer` says that the command ended with a code other than 0.
 *
 * @example
 * if (error instanceof ExitError) process.exitCode = error.exitCode;
 */
export class ExitError extends Error {
  override readonly name: string = 'ExitError';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`command terminated with exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/**
 * Makes an {@link ExitError}.
 *
 * @example
 * throw exitError(3); // the command ended with exit code 3
 */
export const exitError = (exitCode: number): ExitError => new ExitError(exitCode);
