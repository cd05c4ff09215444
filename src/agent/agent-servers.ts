import type { CgroupReadings } from '../containers/stats/cgroup-readings.ts';
import type { MetricFamily } from '../metrics/family.ts';
import type { RuntimeCallMetrics } from '../pods/metrics/agent-metrics.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import type { AgentOptions } from './agent-options.ts';
import type { CommonParts } from './common-parts.ts';
import { type Served, servePorts } from './kubelet-api.ts';
import { sweepMetrics } from './metrics/kubelet-metrics.ts';
import type { StartMetrics } from './metrics/start-metrics.ts';
import type { NodeProtection } from './node-protection.ts';
import type { NodeView } from './node-view.ts';
import { podResourcesApi, PodResourcesMetrics } from './pod-resources-api.ts';
import type { NodeHost } from './volume-host.ts';

/** The subsystems that are served. */
export interface AgentServersParts {
  readonly controller: PodsController;
  readonly node: NodeView;
  readonly protection: NodeProtection;
  readonly volumes: Pick<NodeHost, 'podVolumes'>;
  readonly runtimeCalls: RuntimeCallMetrics;
  readonly starts: StartMetrics;
  /** The readings of the pods' cgroups; absent when pods have no readable cgroups. */
  readonly readings: CgroupReadings | undefined;
}

/** The HTTP servers of an agent and its pod resources API. */
export class AgentServers {
  readonly #options: AgentOptions;
  readonly #common: CommonParts;
  readonly #parts: AgentServersParts;
  readonly #podResources = new PodResourcesMetrics();
  #running: Served | undefined;

  constructor(options: AgentOptions, common: CommonParts, parts: AgentServersParts) {
    this.#options = options;
    this.#common = common;
    this.#parts = parts;
  }

  /** The port of the kubelet API; 0 while it is not served. */
  get port(): number {
    return this.#running?.port ?? 0;
  }

  /**
   * Listens on every port in the options.
   *
   * @throws {AgentError} when the kubelet API or the read-only port cannot listen
   */
  async start(): Promise<void> {
    const { client, nodeName, rootDir, tracer, podResources } = this.#options;
    const { controller, node, protection, readings } = this.#parts;
    const common = this.#common;
    const ports = await servePorts(this.#options, {
      ...common,
      controller,
      client,
      nodeName,
      rootDir,
      nodeIPs: node.nodeIPs,
      addresses: node.addresses,
      summary: () => protection.summary,
      cgroupReadings: readings,
      moreMetrics: () => this.#collect(),
      tracer,
    });
    this.#running = ports;
    if (!podResources) return;
    const api = await podResourcesApi({ ...common, controller, rootDir, metrics: this.#podResources });
    this.#running = {
      port: ports.port,
      close: async () => {
        api?.close();
        await ports.close();
      },
    };
  }

  /** Ends all connections and stops listening. */
  async close(): Promise<void> {
    await this.#running?.close();
  }

  #collect(): readonly MetricFamily[] {
    const { runtimeCalls, starts, protection, volumes } = this.#parts;
    return [
      ...runtimeCalls.collect(),
      ...starts.collect(),
      ...protection.collect(),
      ...sweepMetrics(volumes.podVolumes.lastSweep),
      ...this.#podResources.collect(),
      ...(this.#options.moreMetrics?.() ?? []),
    ];
  }
}
