import { objectAt, stringAt, valueAt } from '../apimachinery/json.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { parseQuantity } from '../kube/resources/quantity.ts';
import type { KubeObject, Node, Pod } from '../kube/types.ts';
import { entryFor, specsFor, type Target } from './cluster-objects.ts';
import { containerOf, type ExpressionDeps, Expressions, type UsedBy } from './expressions/expressions.ts';
import type { SimulatedUsage } from './simulated-provider.ts';

/** The nodes and pods whose usage is computed. */
export interface UsageNodes {
  node(name: string): Node | undefined;
  podsOf(node: string): readonly Pod[];
}

/** Dependencies of ClusterUsage. */
export interface ClusterUsageDeps extends Pick<ExpressionDeps, 'now' | 'random' | 'startedContainers'> {
  /** Returns the objects in force. */
  readonly objects: () => readonly KubeObject[];
  /** Absent: expressions have no variable `node`. */
  readonly nodes?: UsageNodes;
  readonly logger?: Logger;
}

/** An amount that has added up until a time. */
interface Sum {
  readonly at: number;
  readonly amount: number;
}

/**
 * ClusterUsage computes what containers use by `ResourceUsage` and `ClusterResourceUsage` objects: an amount, or an expression of `node`, `pod` and
 * `container`.
 */
export class ClusterUsage {
  readonly #deps: ClusterUsageDeps;
  readonly #expressions: Expressions;
  readonly #sums = new Map<string, Sum>();
  readonly #faults = new Set<string>();

  constructor(deps: ClusterUsageDeps) {
    this.#deps = deps;
    const { now, random, startedContainers } = deps;
    this.#expressions = new Expressions({ now, random, ...(startedContainers && { startedContainers }) }, [
      'node',
      'pod',
      'container',
    ]);
  }

  /** Returns what a container uses; an amount that no object defines is absent. */
  usage(target: Target, pod: Pod | undefined): SimulatedUsage {
    const cpuCores = this.#amountOf('cpu', target, pod);
    const memoryBytes = this.#amountOf('memory', target, pod);
    return { ...(cpuCores !== undefined && { cpuCores }), ...(memoryBytes !== undefined && { memoryBytes }) };
  }

  /** Returns what is in use of a resource by a container, by all of a pod, or by all pods of a node. */
  inUse(resource: string, { object, container }: UsedBy): number {
    if ('containers' in ((object as Pod).spec ?? {})) return this.#podUse(resource, object, container);
    const pods = this.#deps.nodes?.podsOf(object.metadata?.name ?? '') ?? [];
    return pods.reduce((sum, pod) => sum + this.#podUse(resource, pod), 0);
  }

  /** Returns what was used since it was first asked for: amount × seconds, with the amount of now for the time since the last call. */
  cumulative(resource: string, by: UsedBy): number {
    const { now } = this.#deps;
    const { object, container = '' } = by;
    const key = [resource, object.metadata?.uid ?? object.metadata?.name, container].join('/');
    const at = now();
    const before = this.#sums.get(key) ?? { at, amount: 0 };
    const amount = before.amount + (this.inUse(resource, by) * (at - before.at)) / 1000;
    this.#sums.set(key, { at, amount });
    return amount;
  }

  #podUse(resource: string, pod: Pod, only?: string): number {
    const { name = '', namespace = '' } = pod.metadata ?? {};
    return (pod.spec?.containers ?? [])
      .filter((one) => only === undefined || one.name === only)
      .map((one) => this.#amountOf(resource, { namespace, pod: name, container: one.name }, pod) ?? 0)
      .reduce((sum, amount) => sum + amount, 0);
  }

  #amountOf(resource: string, target: Target, pod: Pod | undefined): number | undefined {
    const specs = specsFor(this.#deps.objects(), 'ResourceUsage', target);
    const amount = objectAt(objectAt(entryFor(specs, 'usages', target.container), 'usage'), resource);
    try {
      const value = valueAt(amount, 'value');
      if (typeof value === 'string' || typeof value === 'number') return numberOf(String(value));
      const expression = stringAt(amount, 'expression');
      return expression === '' ? undefined : this.#evaluate(expression, target, pod);
    } catch (reason) {
      this.#report(resource, target, reason);
      return undefined;
    }
  }

  #evaluate(text: string, { container }: Target, pod: Pod | undefined): number {
    const node = this.#deps.nodes?.node(pod?.spec?.nodeName ?? '');
    const variables = { pod, node, container: pod && containerOf(pod, container) };
    const expression = this.#expressions.compile(text);
    const amount = expression.number(variables);
    if (amount !== undefined) return amount;
    expression.check(variables);
    throw new AgentError('invalid_argument', `expression ${JSON.stringify(text.trim())} yields no amount`);
  }

  /** Logs a fault once. */
  #report(resource: string, { namespace, pod, container }: Target, reason: unknown): void {
    const err = messageOf(reason);
    if (this.#faults.has(err)) return;
    this.#faults.add(err);
    const { logger = silentLogger } = this.#deps;
    logger.warn('the usage of a container cannot be computed', { resource, namespace, pod, container, err });
  }
}

function numberOf(text: string): number {
  const { unscaled, exponent } = parseQuantity(text);
  return Number(`${unscaled}e${exponent}`);
}
