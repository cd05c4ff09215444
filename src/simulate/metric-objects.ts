import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeObject, Node, Pod } from '../kube/types.ts';
import type { MetricFamily, Sample } from '../metrics/family.ts';
import { metricsText } from '../metrics/metrics.ts';
import type { UsageNodes } from './cluster-usage.ts';
import { containerOf, type ExpressionDeps, Expressions, type Variables } from './expressions/expressions.ts';
import { ObjectReader, type Raw } from './stages/object-reader.ts';

/** A metric of a Metric object. */
interface Metric {
  readonly name: string;
  readonly help: string;
  readonly kind: (typeof kinds)[number];
  readonly dimension: (typeof dimensions)[number];
  readonly labels: readonly { readonly name: string; readonly value: string }[];
  readonly value: string;
  readonly buckets: readonly Bucket[];
}

interface Bucket {
  readonly le: number;
  readonly value: string;
  /** Whether it only counts towards the buckets above it. */
  readonly hidden: boolean;
}

/** The metrics that are served at a path. */
interface Page {
  readonly name: string;
  readonly path: string;
  readonly metrics: readonly Metric[];
}

const kinds = ['counter', 'gauge', 'histogram'] as const;
const dimensions = ['node', 'pod', 'container'] as const;

const nodeNamePart = '{nodeName}';

/** Decodes a Metric object (`kwok.x-k8s.io/v1alpha1`). @throws {AgentError} `invalid_argument` naming the field and what would be right */
function pageOf(object: KubeObject, expressions: Expressions): Page {
  const { name = '' } = object.metadata ?? {};
  const spec = new ObjectReader(object as Raw, `Metric ${JSON.stringify(name)}`).object('spec');
  const path = spec.required('path');
  if (!path.startsWith('/metrics')) throw spec.fault('path', 'must start with /metrics');
  return { name, path, metrics: spec.objects('metrics').map((one) => metricOf(one, expressions)) };
}

function metricOf(reader: ObjectReader, expressions: Expressions): Metric {
  const text = (of: ObjectReader, key: string): string =>
    of.decoded(key, (written) => (expressions.compile(written), written)) ?? '';
  const kind = reader.choice('kind', kinds);
  const value = text(reader, 'value');
  if (kind !== 'histogram' && value === '') throw reader.fault('value', 'is required');
  return {
    name: reader.required('name'),
    help: (reader.text('help') ?? '').trim(),
    ...{ kind, value },
    dimension: reader.choice('dimension', dimensions, 'node'),
    labels: reader
      .objects('labels')
      .map((label) => ({ name: label.required('name'), value: text(label, 'value') })),
    buckets: reader
      .objects('buckets')
      .map((one) => ({ le: one.number('le') ?? 0, value: text(one, 'value'), hidden: one.flag('hidden') }))
      .sort((a, b) => a.le - b.le),
  };
}

/** Dependencies of MetricObjects. */
export interface MetricObjectsDeps extends ExpressionDeps {
  /** Returns the objects in force; those that are no Metric are left out. */
  readonly objects: () => readonly KubeObject[];
  readonly nodes: UsageNodes;
  /** The names of the nodes. */
  readonly nodeNames: readonly string[];
  readonly logger: Logger;
}

/** Where Prometheus finds a page of metrics, in the form of its HTTP service discovery. */
export interface MetricTarget {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** MetricObjects serves the metrics that `Metric` objects define, each with values by expressions of `node`, `pod` and `container`. */
export class MetricObjects {
  readonly #deps: MetricObjectsDeps;
  readonly #expressions: Expressions;
  readonly #faults = new Set<string>();

  constructor(deps: MetricObjectsDeps) {
    this.#deps = deps;
    this.#expressions = new Expressions(deps, ['node', 'pod', 'container']);
  }

  /** Checks objects. @throws {AgentError} `invalid_argument` for the first faulty one */
  check(objects: readonly KubeObject[]): void {
    for (const object of objects) if (object.kind === 'Metric') pageOf(object, this.#expressions);
  }

  /** Returns the page of a path in the format of Prometheus; undefined when no object is for this path, or its node is unknown. */
  page(path: string): string | undefined {
    for (const page of this.#pages()) {
      const nodeName = nodeNameOf(page, path);
      const node = nodeName === undefined ? undefined : this.#deps.nodes.node(nodeName);
      if (node) return metricsText(page.metrics.flatMap((metric) => this.#family(metric, node)));
    }
    return undefined;
  }

  /** Returns the targets of all pages. @param host the host and port at which they are served */
  targets(host: string): readonly MetricTarget[] {
    return this.#pages().flatMap(({ name, path }) => {
      const paths = path.includes(nodeNamePart)
        ? this.#deps.nodeNames.map((node) => path.replaceAll(nodeNamePart, node))
        : [path];
      return paths.map((one) => ({
        targets: [host],
        labels: { metrics_name: name, __scheme__: 'http', __metrics_path__: one },
      }));
    });
  }

  #pages(): readonly Page[] {
    return this.#deps.objects().flatMap((object) => {
      if (object.kind !== 'Metric') return [];
      try {
        return [pageOf(object, this.#expressions)];
      } catch (reason) {
        this.#report(reason);
        return [];
      }
    });
  }

  /** Returns a metric with a sample for each object of its dimension; one that cannot be computed is left out. */
  #family(metric: Metric, node: Node): readonly MetricFamily[] {
    const samples = this.#scopes(metric.dimension, node).flatMap((variables) => {
      try {
        return this.#samples(metric, variables);
      } catch (reason) {
        this.#report(reason);
        return [];
      }
    });
    const { name, kind: type, help } = metric;
    return [{ name, type, help, samples }];
  }

  #scopes(dimension: Metric['dimension'], node: Node): readonly Variables[] {
    if (dimension === 'node') return [{ node }];
    const pods = this.#deps.nodes.podsOf(node.metadata?.name ?? '');
    if (dimension === 'pod') return pods.map((pod) => ({ node, pod }));
    return pods.flatMap((pod) =>
      containersOf(pod).map((name) => ({ node, pod, container: containerOf(pod, name) })),
    );
  }

  #samples({ labels: all, value, buckets, kind }: Metric, variables: Variables): readonly Sample[] {
    const labels = Object.fromEntries(all.map((label) => [label.name, this.#text(label.value, variables)]));
    if (kind !== 'histogram') return [{ labels, value: this.#number(value, variables) }];
    const counts = buckets.map((bucket) => Math.max(0, Math.trunc(this.#number(bucket.value, variables))));
    const upTo = (index: number): number => counts.slice(0, index + 1).reduce((sum, count) => sum + count, 0);
    const total = upTo(counts.length);
    return [
      ...buckets.flatMap(({ le, hidden }, i) =>
        hidden ? [] : [{ suffix: '_bucket', labels: { ...labels, le: String(le) }, value: upTo(i) }],
      ),
      { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: total },
      { suffix: '_sum', labels, value: buckets.reduce((sum, { le }, i) => sum + le * (counts[i] ?? 0), 0) },
      { suffix: '_count', labels, value: total },
    ];
  }

  #number(text: string, variables: Variables): number {
    const expression = this.#expressions.compile(text);
    const value = expression.number(variables);
    if (value !== undefined) return value;
    expression.check(variables);
    throw new AgentError('invalid_argument', `expression ${JSON.stringify(text)} yields no number`);
  }

  #text(text: string, variables: Variables): string {
    const expression = this.#expressions.compile(text);
    const value = expression.text(variables);
    if (value !== undefined) return value;
    expression.check(variables);
    throw new AgentError('invalid_argument', `expression ${JSON.stringify(text)} yields no text`);
  }

  /** Logs a fault once. */
  #report(reason: unknown): void {
    const err = messageOf(reason);
    if (this.#faults.has(err)) return;
    this.#faults.add(err);
    this.#deps.logger.warn('a metric cannot be computed', { err });
  }
}

const containersOf = ({ spec }: Pod): readonly string[] => (spec?.containers ?? []).map(({ name }) => name);

/** Returns the node that a path is for: the one in the path, or else the one that has the object's name; undefined: another path. */
function nodeNameOf({ name, path: pattern }: Page, path: string): string | undefined {
  const [before = '', after] = pattern.split(nodeNamePart);
  if (after === undefined) return path === pattern ? name : undefined;
  if (!path.startsWith(before) || !path.endsWith(after) || path.length <= before.length + after.length)
    return undefined;
  const node = path.slice(before.length, path.length - after.length);
  return node.includes('/') ? undefined : node;
}
