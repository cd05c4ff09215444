import { isNotFound } from '../../api/client.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client, Reader } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Taint } from '../../kube/taints.ts';
import { nameOf } from '../workload/objects.ts';
import type { Node, Pod } from '../workload/types.ts';
import { type HealthReport, judge, type NodeHealth, readyOf, unreadyConditions } from './node-health.ts';
import { changeTaints, hasTaint, notReadyKey, unreachableKey } from './node-taints.ts';
import { patchPodStatus } from './pod-status.ts';
import { zoneOf, Zones } from './zones.ts';

/** What the controllers of nodes work with. */
export interface NodeDeps {
  /** Reads from the cache. */
  readonly client: Client;
  /** Reads from the API server. */
  readonly reader: Reader;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly logger: Logger;
}

const unreachable: Taint = { key: unreachableKey, effect: 'NoExecute' };
const notReady: Taint = { key: notReadyKey, effect: 'NoExecute' };
const exclusionLabel = 'node.kubernetes.io/exclude-disruption';
/** Nodes that are looked at side by side. */
const concurrency = 8;
const attempts = 5;

const asNode = ({ metadata }: Node): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    ...(metadata?.name !== undefined && { name: metadata.name }),
    ...(metadata?.uid !== undefined && { uid: metadata.uid }),
  },
});

/** NodeMonitor looks at all nodes: those that are silent become Unknown, get NoExecute taints, and their pods are not ready any more. */
export class NodeMonitor {
  readonly #deps: NodeDeps;
  readonly #nodes = new Map<string, Node>();
  readonly #health = new Map<string, NodeHealth>();
  readonly #zones = new Zones();
  /** Nodes some of whose pods could not be marked. */
  readonly #unmarked = new Set<string>();

  constructor(deps: NodeDeps) {
    this.#deps = deps;
  }

  /** Looks at all nodes once; then those whose turn it is get their taints. */
  async pass(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#deps;
    const nodes = await client.list(kinds.Node, { signal });
    await this.#register(nodes, signal);
    const found = new Map<string, (string | undefined)[]>();
    for (let at = 0; at < nodes.length; at += concurrency)
      await Promise.all(
        nodes.slice(at, at + concurrency).map(async (node) => {
          const report = await this.#look(node, signal);
          if (!report || node.metadata?.labels?.[exclusionLabel] !== undefined) return;
          found.set(zoneOf(node), [...(found.get(zoneOf(node)) ?? []), report.current]);
        }),
      );
    const change = this.#zones.update(found, clock.now());
    if (change === 'stopped') await Promise.all(nodes.map((node) => this.#untaint(node, signal)));
    if (change === 'resumed')
      for (const [name, health] of this.#health) this.#health.set(name, { ...health, aliveAt: clock.now() });
    await this.#taint(nodes, signal);
  }

  /** Marks a pod that came to a node that is not ready. */
  async placed(pod: Pod, signal: AbortSignal): Promise<void> {
    const name = pod.spec?.nodeName ?? '';
    if (!this.#health.has(name)) return;
    try {
      const node = await this.#deps.client.get(kinds.Node, { name }, { signal });
      if ((readyOf(node)?.status ?? 'True') !== 'True') await this.#markPod(pod, signal);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  }

  async #register(nodes: readonly Node[], signal: AbortSignal): Promise<void> {
    const { events } = this.#deps;
    const tell = (node: Node, reason: string, what: string): void => {
      events.event(asNode(node), 'Normal', reason, `Node ${nameOf(node)} event: ${what}`);
    };
    for (const node of nodes) {
      const name = nameOf(node);
      if (this.#nodes.has(name)) continue;
      tell(node, 'RegisteredNode', `Registered Node ${name} in Controller`);
      this.#nodes.set(name, node);
      await this.#untaint(node, signal);
    }
    const present = new Set(nodes.map(nameOf));
    for (const [name, node] of this.#nodes) {
      if (present.has(name)) continue;
      tell(node, 'RemovingNode', `Removing Node ${name} from Controller`);
      for (const all of [this.#nodes, this.#health, this.#unmarked]) all.delete(name);
      this.#zones.queueOf(node).remove(name);
    }
  }

  /** Looks at a node. @returns undefined when its status could not be written */
  async #look(node: Node, signal: AbortSignal): Promise<HealthReport | undefined> {
    const name = nameOf(node);
    try {
      const report = await this.#judge(node, signal);
      if (report.current === undefined) return report;
      await this.#plan(node, report.current, signal);
      const turned = report.current !== 'True' && report.observed === 'True';
      if (turned) {
        const message = `Node ${name} status is now: NodeNotReady`;
        this.#deps.events.event(asNode(node), 'Normal', 'NodeNotReady', message);
      }
      if (turned || (this.#unmarked.has(name) && report.observed !== 'True'))
        await this.#markPods(name, signal);
      else this.#unmarked.delete(name);
      return report;
    } catch (reason) {
      if (signal.aborted) throw reason;
      if (!isNotFound(reason))
        this.#deps.logger.warn('cannot look after a node', { node: name, err: messageOf(reason) });
      return undefined;
    }
  }

  /** Judges a node, and writes conditions that turn Unknown. */
  async #judge(node: Node, signal: AbortSignal): Promise<HealthReport> {
    const { client, reader, clock } = this.#deps;
    const name = nameOf(node);
    const renewal = await this.#renewal(name, signal);
    let current = node;
    for (let attempt = 1; ; attempt++) {
      const report = judge(this.#health.get(name), { node: current, renewal, now: clock.now() });
      this.#health.set(name, report.health);
      if (!report.conditions) return report;
      const status = { ...current.status, conditions: [...report.conditions] };
      try {
        await client.status.update(kinds.Node, { ...current, status }, { signal });
        return report;
      } catch (reason) {
        if (signal.aborted || attempt === attempts) throw reason;
      }
      current = await reader.get(kinds.Node, { name }, { signal });
    }
  }

  async #renewal(name: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const lease = await this.#deps.client.get(
        kinds.Lease,
        { namespace: 'kube-node-lease', name },
        { signal },
      );
      return lease.spec?.renewTime;
    } catch (reason) {
      if (isNotFound(reason)) return undefined;
      throw reason;
    }
  }

  /** Exchanges the NoExecute taints of a node at once, and queues one that has none. */
  async #plan(node: Node, ready: string, signal: AbortSignal): Promise<void> {
    if (ready === 'True') {
      await this.#untaint(node, signal);
      return;
    }
    const [own, other] = ready === 'False' ? [notReady, unreachable] : [unreachable, notReady];
    if (hasTaint(node, other)) await this.#change(node, { add: [own], remove: [other] }, signal);
    else if (!hasTaint(node, own)) this.#zones.queueOf(node).add(nameOf(node));
  }

  async #taint(nodes: readonly Node[], signal: AbortSignal): Promise<void> {
    const { clock, client } = this.#deps;
    const byName = new Map(nodes.map((node) => [nameOf(node), node]));
    for (const queue of this.#zones.queues())
      for (let name = queue.next(clock.now()); name !== undefined; name = queue.next(clock.now())) {
        queue.remove(name);
        const listed = byName.get(name);
        if (!listed) continue;
        const ready = readyOf(await client.get(kinds.Node, { name }, { signal }))?.status;
        if (ready === undefined || ready === 'True') continue;
        const [add, remove] = ready === 'False' ? [notReady, unreachable] : [unreachable, notReady];
        await this.#change(listed, { add: [add], remove: [remove] }, signal);
      }
  }

  async #untaint(node: Node, signal: AbortSignal): Promise<void> {
    this.#zones.queueOf(node).remove(nameOf(node));
    if (hasTaint(node, unreachable) || hasTaint(node, notReady))
      await this.#change(node, { add: [], remove: [unreachable, notReady] }, signal);
  }

  async #change(
    node: Node,
    change: { readonly add: readonly Taint[]; readonly remove: readonly Taint[] },
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await changeTaints(this.#deps, node, change, { now: this.#deps.clock.now(), signal });
    } catch (reason) {
      if (signal.aborted) throw reason;
      // the next pass tries again
      this.#deps.logger.warn('cannot change the taints of a node', {
        node: nameOf(node),
        err: messageOf(reason),
      });
    }
  }

  async #markPods(name: string, signal: AbortSignal): Promise<void> {
    const pods = await this.#deps.client.list(kinds.Pod, { signal });
    this.#unmarked.delete(name);
    for (const pod of pods.filter(({ spec }) => spec?.nodeName === name))
      try {
        await this.#markPod(pod, signal);
      } catch (reason) {
        if (signal.aborted) throw reason;
        this.#unmarked.add(name);
      }
  }

  async #markPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const { client, clock, events } = this.#deps;
    const conditions = unreadyConditions(pod.status?.conditions ?? [], clock.now());
    const ready = conditions?.find(({ type }) => type === 'Ready');
    if (!ready) return;
    try {
      await patchPodStatus(client, pod, { conditions: [ready] }, signal);
    } catch (reason) {
      if (isNotFound(reason)) return;
      throw reason;
    }
    events.event({ apiVersion: 'v1', kind: 'Pod', ...pod }, 'Warning', 'NodeNotReady', 'Node is not ready');
  }
}
