import type { ServerResponse } from 'node:http';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { Counter, Histogram, type Observer } from '../../metrics/metrics.ts';
import type { Handler } from '../request/handler.ts';
import { sentBytesOf } from '../request/sent-bytes.ts';
import { type ApiRequest, isLongRunning, verbOf } from '../request/request.ts';

/** kube-apiserver's buckets of the time that requests take, seconds. */
const durations = [
  ...[0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60],
];
/** kube-apiserver's buckets of the time without webhooks and waiting, seconds. */
const ownDurations = durations.filter((bound) => bound >= 0.05);

/** kube-apiserver's buckets of the sizes of answers, bytes. */
const sizes = Array.from({ length: 7 }, (_none, i) => 1000 * 10 ** i);

/** Paths that are counted as kube-apiserver does, with the path as subresource. */
const paths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz', '/metrics', '/version']);

/** Subresources that connect a client with something else. */
const connecting: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** The series of one sort of request. */
interface Series {
  readonly durations: Observer;
  readonly ownDurations: Observer | undefined;
  /** Absent for requests that do not read. */
  readonly sizes: Observer | undefined;
  readonly byCode: Map<number, { value: number }>;
  readonly running: { value: number };
  readonly labels: Readonly<Record<string, string>>;
}

/** RequestMetrics counts requests under kube-apiserver's names. */
export class RequestMetrics {
  readonly #requests = new Counter(
    'apiserver_request_total',
    'Number of requests by verb, dry run, group, version, resource, subresource, scope, component and HTTP status.',
  );
  readonly #durations = new Histogram(
    'apiserver_request_duration_seconds',
    'Time until requests were answered, seconds.',
    durations,
  );
  readonly #ownDurations = new Histogram(
    'apiserver_request_sli_duration_seconds',
    'Time until requests were answered, without the time that they waited for a seat, seconds.',
    ownDurations,
  );
  readonly #sizes = new Histogram(
    'apiserver_response_sizes',
    'Sizes of the bodies that reading requests were answered with, bytes.',
    sizes,
  );
  readonly #running = new Counter(
    'apiserver_longrunning_requests',
    'Number of long-running requests: watches, streams, logs, proxied connections.',
    'gauge',
  );
  readonly #inFlight = new Counter(
    'apiserver_current_inflight_requests',
    'Number of requests that are being answered, without long-running ones.',
    'gauge',
  );
  readonly #mutating = this.#inFlight.with({ request_kind: 'mutating' });
  readonly #reading = this.#inFlight.with({ request_kind: 'readOnly' });
  readonly #series = new Map<string, Series>();
  readonly #clock: Pick<Clock, 'now' | 'steady'>;

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Counts the requests that reach a handler; a long-running one when it ends. */
  counting(next: Handler): Handler {
    return async (request, response) => {
      const series = this.#seriesOf(request);
      if (!series) return next(request, response);
      const begin = steadyNow(this.#clock);
      if (isLongRunning(request)) return this.#longRunning({ series, begin }, request, response, next);
      const kind = request.method === 'GET' || request.method === 'HEAD' ? this.#reading : this.#mutating;
      kind.value++;
      try {
        await next(request, response);
        this.#count(series, begin, response.statusCode);
        series.sizes?.observe(sentBytesOf(response).bytes);
      } catch (reason) {
        this.#count(series, begin, codeOf(reason));
        measureEnd(series, response);
        throw reason;
      } finally {
        kind.value--;
      }
    };
  }

  async #longRunning(
    { series, begin }: { readonly series: Series; readonly begin: number },
    request: ApiRequest,
    response: ServerResponse,
    next: Handler,
  ): Promise<void> {
    series.running.value++;
    let isOver = false;
    const end = (code: number): void => {
      if (isOver) return;
      isOver = true;
      series.running.value--;
      this.#count(series, begin, code);
    };
    response.once('close', () => {
      end(response.statusCode);
    });
    measureEnd(series, response);
    try {
      await next(request, response);
    } catch (reason) {
      end(codeOf(reason));
      throw reason;
    }
    if (request.upgrading) end(101);
  }

  #count(series: Series, begin: number, code: number): void {
    const seconds = (steadyNow(this.#clock) - begin) / 1000;
    series.durations.observe(seconds);
    series.ownDurations?.observe(seconds);
    let counter = series.byCode.get(code);
    if (!counter) {
      counter = this.#requests.with({ ...series.labels, code: String(code) });
      series.byCode.set(code, counter);
    }
    counter.value++;
  }

  /** Returns the series of a request; `undefined` for paths that are not counted: their number has no end. */
  #seriesOf(request: ApiRequest): Series | undefined {
    const { target, path, method } = request;
    if (!target) return paths.has(path) ? this.#seriesAt(`${method} ${path}`, () => ofPath(path)) : undefined;
    const { kind, subresource, namespace, name } = target;
    if (!kind) return undefined;
    const place = name !== '' ? 'n' : namespace !== '' ? 's' : 'c';
    const about = `${kind.group}/${kind.version}/${kind.resource}/${subresource}`;
    const key = `${about} ${verbLabel(request)} ${dryRunOf(request)} ${place}`;
    return this.#seriesAt(key, () => ofResource(request));
  }

  #seriesAt(key: string, labelsOf: () => Readonly<Record<string, string>>): Series {
    const found = this.#series.get(key);
    if (found) return found;
    const labels = labelsOf();
    const { dry_run: dryRun, ...plain } = labels;
    const running = { value: 0 };
    const series: Series = {
      labels,
      durations: this.#durations.with(labels),
      ownDurations: dryRun === '' ? this.#ownDurations.with(plain) : undefined,
      sizes: isRead(labels) ? this.#sizes.with(plain) : undefined,
      byCode: new Map(),
      running:
        labels['verb'] === 'WATCH' || labels['verb'] === 'CONNECT' ? this.#running.with(plain) : running,
    };
    this.#series.set(key, series);
    return series;
  }

  families(): readonly MetricFamily[] {
    const histograms = [this.#durations, this.#ownDurations, this.#sizes];
    return [this.#requests, ...histograms, this.#running, this.#inFlight].map((one) => one.collect());
  }
}

/** Observes the size of an answer once it is sent. */
function measureEnd({ sizes: observer }: Series, response: ServerResponse): void {
  if (!observer) return;
  response.once('close', () => {
    observer.observe(sentBytesOf(response).bytes);
  });
}

/** True for requests that read: also watches and logs, not the other connections. */
const isRead = ({ verb = '', subresource = '' }: Readonly<Record<string, string>>): boolean =>
  /^(GET|LIST|WATCH)$/.test(verb) || (verb === 'CONNECT' && subresource === 'log');

const codeOf = (reason: unknown): number => (reason instanceof StatusError ? reason.code : 500);

/** Returns the dry run of a request: none, of all stages, or an invalid one. */
function dryRunOf({ query }: ApiRequest): string {
  const value = query.get('dryRun') ?? '';
  return value === '' || value === 'All' ? value : 'invalid';
}

const verbs: ReadonlyMap<string, string> = new Map([
  ...(['get', 'list', 'watch'] as const).map((verb) => [verb, verb.toUpperCase()] as const),
  ['create', 'POST'],
  ['update', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETE'],
]);

/** Returns the verb of a request as metrics have it. */
function verbLabel({ method, query, target, raw }: ApiRequest): string {
  if (connecting.has(target?.subresource ?? '')) return 'CONNECT';
  const verb = verbs.get(verbOf(method, target, query)) ?? 'OTHER';
  const isApply = verb === 'PATCH' && raw.headers['content-type'] === 'application/apply-patch+yaml';
  return isApply ? 'APPLY' : verb;
}

const component = 'apiserver';

const ofPath = (subresource: string): Readonly<Record<string, string>> => ({
  verb: 'GET',
  ...{ dry_run: '', group: '', version: '', resource: '', subresource, scope: '', component },
});

function scopeOf({ target }: ApiRequest, verb: string): string {
  const { name = '', namespace = '' } = target ?? {};
  if (name !== '' || verb === 'POST') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}

function ofResource(request: ApiRequest): Readonly<Record<string, string>> {
  const { kind, subresource = '' } = request.target ?? {};
  const { group = '', version = '', resource = '' } = kind ?? {};
  const verb = verbLabel(request);
  const common = { dry_run: dryRunOf(request), group, version, resource, subresource };
  return { verb, ...common, scope: scopeOf(request, verb), component };
}
