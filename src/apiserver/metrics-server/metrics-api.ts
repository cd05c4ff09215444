import type { ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../kube/duration.ts';
import { addQuantities, formatQuantity, quantityOf, scaledQuantity } from '../../kube/resources/quantity.ts';
import { type JsonObject, nameOf, objectAt, valueAt } from '../../apimachinery/json.ts';
import { groupVersionOf, type Kind, metricsKinds } from '../../apimachinery/kinds.ts';
import { negotiate, type Representation, wantsPretty } from '../endpoints/negotiate.ts';
import { type ApiRequest, type ResourcePath, verbOf } from '../request/request.ts';
import { type Pair, type Use, useOf } from './resource-usage.ts';
import { sendBody } from '../endpoints/respond.ts';
import { fieldMatcher, fieldTerms, labelMatcher } from '../../apimachinery/selectors.ts';
import { methodNotAllowed, noSuchResource, notFound } from '../../apimachinery/status-error.ts';
import { keyOf, type Store } from '../storage/store.ts';
import { column } from '../printers/table-printer.ts';
import { seconds } from '../../apimachinery/times.ts';
import type { RecordedUsage, UsageReader } from './usage-reader.ts';
import { metaVersion, partial } from '../endpoints/views.ts';

export interface MetricsApiDeps {
  readonly store: Pick<Store, 'get' | 'list'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly usage: Pick<UsageReader, 'usage'>;
}

/** A node or pod with its resource usage. */
interface Measured {
  readonly object: JsonObject;
  readonly uses: readonly (readonly [container: string, use: Use])[];
}

/** MetricsApi serves `metrics.k8s.io/v1beta1`: usage of nodes and running pods, as metrics-server does. */
export class MetricsApi {
  readonly #deps: MetricsApiDeps;

  constructor(deps: MetricsApiDeps) {
    this.#deps = deps;
  }

  /** @throws {StatusError} 404 also for what has not been measured twice yet, 405 for writes */
  async handle(request: ApiRequest, response: ServerResponse, target: ResourcePath): Promise<void> {
    const kind = kindOf(target);
    if (!['get', 'list'].includes(verbOf(request.method, target, request.query))) throw methodNotAllowed();
    const list = target.name === '';
    const representation = negotiate(request.raw.headers.accept, {
      views: list
        ? ['Table', 'PartialObjectMetadataList', 'PartialObjectMetadata']
        : ['Table', 'PartialObjectMetadata'],
      protobuf: false,
      pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
    });
    const body = list
      ? await this.#list(kind, target, request.query, representation)
      : await this.#get(kind, target, representation);
    await sendBody(request.raw, response, { status: 200, body, representation });
  }

  async #list(
    kind: Kind,
    { namespace }: ResourcePath,
    query: URLSearchParams,
    representation: Representation,
  ): Promise<JsonObject> {
    const byLabel = labelMatcher(query.get('labelSelector') ?? '');
    const byField = fieldMatcher(fieldTerms(query.get('fieldSelector') ?? ''), kind);
    const usage = await this.#deps.usage.usage();
    const entries = [...this.#deps.store.list(kind.resource, namespace === '' ? '' : `${namespace}/`)];
    const found = entries.flatMap(({ key, object }) => {
      const measured = byLabel(object) && byField(object) && measuredOf(kind, key, object, usage);
      return measured ? [measured] : [];
    });
    const items = found.map((one) => this.#metrics(one, kind));
    if (representation.as === 'Table') return tableOf(found, items, representation);
    if (representation.as === 'PartialObjectMetadataList')
      return {
        kind: representation.as,
        apiVersion: metaVersion(representation),
        metadata: {},
        items: items.map(({ metadata }) => ({ metadata })),
      };
    return { kind: `${kind.kind}List`, apiVersion: groupVersionOf(kind), metadata: {}, items };
  }

  async #get(
    kind: Kind,
    { namespace, name }: ResourcePath,
    representation: Representation,
  ): Promise<JsonObject> {
    const key = keyOf(namespace, name);
    const entry = this.#deps.store.get(kind.resource, key);
    if (!entry) throw notFound({ kind: kind.resource, name });
    const measured = measuredOf(kind, key, entry.object, await this.#deps.usage.usage());
    if (!measured) throw notFound({ kind: kind.kind.toLowerCase(), group: kind.group, name: key });
    const item = this.#metrics(measured, kind);
    if (representation.as === 'Table') return tableOf([measured], [item], representation);
    if (representation.as === 'PartialObjectMetadata') return partial(item, representation);
    return { kind: kind.kind, apiVersion: groupVersionOf(kind), ...item };
  }

  #metrics({ object, uses }: Measured, kind: Kind): JsonObject {
    const { name, namespace, labels } = objectAt(object, 'metadata');
    const earliest = earliestOf(uses);
    const containers = uses.map(([container, use]) => ({ name: container, usage: amountsOf([use]) }));
    return {
      metadata: {
        name,
        ...(kind.namespaced && { namespace }),
        creationTimestamp: seconds(this.#deps.clock.now()),
        ...(labels !== undefined && { labels }),
      },
      timestamp: seconds(earliest.at),
      window: windowOf(earliest),
      ...(kind.namespaced ? { containers } : { usage: containers[0]?.usage }),
    };
  }
}

/** @throws {StatusError} 404 for unknown resources */
function kindOf({ version, resource, subresource, namespace, name }: ResourcePath): Kind {
  const kind = metricsKinds.find((one) => one.version === version && one.resource === resource);
  const fits = kind?.namespaced ? namespace !== '' || name === '' : namespace === '';
  if (!kind || !fits || subresource !== '') throw noSuchResource();
  return kind;
}

/** Returns a node or running pod that has been measured twice; undefined otherwise. */
function measuredOf(
  kind: Kind,
  key: string,
  object: JsonObject,
  { nodes, pods }: RecordedUsage,
): Measured | undefined {
  if (kind.namespaced && valueAt(object, 'status', 'phase') !== 'Running') return undefined;
  const node = nodes.get(key);
  const pairs: ReadonlyMap<string, Pair> | undefined = kind.namespaced
    ? pods.get(key)
    : node && new Map([['', node]]);
  if (!pairs) return undefined;
  const uses = [...pairs].flatMap(([name, pair]) => {
    const use = useOf(pair);
    return use ? [[name, use] as const] : [];
  });
  return uses.length === pairs.size ? { object, uses } : undefined;
}

const earliestOf = (uses: Measured['uses']): Use =>
  uses.map(([, use]) => use).reduce((a, b) => (b.at < a.at ? b : a));

const windowOf = ({ windowMs }: Use): string => formatDuration(BigInt(Math.round(windowMs * 1e6)));

function amountsOf(uses: readonly Use[]): { readonly cpu: string; readonly memory: string } {
  const cpu = uses.map(({ cpuNanoCores }) => scaledQuantity(cpuNanoCores, -9));
  const memory = uses.map(({ memoryBytes }) => quantityOf(memoryBytes, 'BinarySI'));
  return {
    cpu: formatQuantity(cpu.reduce(addQuantities)),
    memory: formatQuantity(memory.reduce(addQuantities)),
  };
}

/** Returns a table with metrics-server's columns; without columns if there are no rows, as there. */
function tableOf(
  found: readonly Measured[],
  items: readonly JsonObject[],
  representation: Representation,
): JsonObject {
  const columns = [
    column('Name'),
    column('cpu', 0, 'string', 'quantity'),
    column('memory', 0, 'string', 'quantity'),
    column('Window', 0, 'string', 'duration'),
  ];
  return {
    kind: 'Table',
    apiVersion: metaVersion(representation),
    metadata: {},
    columnDefinitions: found.length > 0 ? columns : null,
    rows: found.map(({ object, uses }, index) => {
      const { cpu, memory } = amountsOf(uses.map(([, use]) => use));
      return {
        cells: [nameOf(object), cpu, memory, windowOf(earliestOf(uses))],
        object: partial(items[index] ?? {}, representation),
      };
    }),
  };
}
