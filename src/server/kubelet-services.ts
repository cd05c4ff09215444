import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import { decodedPath } from '../go/url-path.ts';
import { type HealthCheck, log, ping } from '../kube/health-checks.ts';
import { flagzPage, statuszPage } from '../kube/zpages.ts';
import { containerLogs, hasContainer, refOf } from './container-logs.ts';
import { devicePlugin, healthMetrics, healthz, healthzOf, resetHealthMetrics } from './health.ts';
import type { ServerHost } from './host.ts';
import { podList, runningOnly, runningPodList } from './pod-lists.ts';
import { metricsReply } from './metrics-reply.ts';
import { splitTarget } from './mux.ts';
import { nodeLogs } from './node-logs.ts';
import { httpError, json, type Reply, text } from './reply.ts';
import type { Call, Handler, Service } from './services.ts';
import { statsSummary } from '../containers/stats/stats-summary.ts';
import { cadvisorMetrics, resourceMetrics } from './usage-metrics.ts';
import type { Usage } from '../containers/stats/usage.ts';
import { zpage } from './zpages.ts';
import type { MetricFamily } from '../metrics/family.ts';

/** Dependencies of the kubelet API's services. */
export interface ServicesDeps {
  readonly host: ServerHost;
  readonly clock: Clock;
  /** Feature gate PodLogsQuerySplitStreams. */
  readonly splitStreams: boolean;
  /** `enableDebuggingHandlers`: logs, exec, attach, port-forward and running pods. */
  readonly debugging: boolean;
  /** Feature gate ContainerCheckpoint. */
  readonly checkpoints: boolean;
  /**
   * Services answered with 405 although debugging is enabled (`enableSystemLogHandler`, `enableProfilingHandler`,
   * `enableDebugFlagsHandler`); default: none.
   */
  readonly disabled?:
    { readonly logs?: boolean; readonly profiling?: boolean; readonly debugFlags?: boolean } | undefined;
  /** Whether metrics are served as OpenMetrics to clients that accept it; default: true. */
  readonly openMetrics?: boolean;
  /** Returns the server's own metrics. */
  readonly serverMetrics: () => readonly MetricFamily[];
}

type OpenDeps = Pick<ServicesDeps, 'host' | 'serverMetrics' | 'openMetrics'>;

const jsonType = 'application/json';

/** Returns the patterns of a service that answers with and without a trailing slash. */
export const bothOf = (path: string): readonly string[] => [path, `${path}/`];

/** Returns the health checks of the main port. */
export const healthChecks = (host: ServerHost): readonly HealthCheck[] => [
  ping,
  log,
  { name: 'syncloop', check: () => host.syncLoopFault() },
  devicePlugin,
];

/** Returns the services `/healthz` and `/healthz/{name}`. */
export const healthServices = (checks: readonly HealthCheck[]): readonly Service[] => [
  { patterns: ['/healthz'], routes: ({ query }) => healthz(checks, query) },
  ...checks.map(({ name }) => ({
    patterns: [`/healthz/${name}`],
    routes: () => healthzOf(checks, name),
  })),
];

/** Returns the services that do not depend on the debugging handlers: pods, health, settings, statistics and metrics. */
export function defaultServices(deps: ServicesDeps): readonly Service[] {
  const { host } = deps;
  return [
    ...openServices(deps),
    ...(deps.checkpoints ? [checkpointService(host)] : []),
    ...pageServices(deps),
  ];
}

const checkpointService = (host: ServerHost): Service => ({
  patterns: ['/checkpoint/'],
  routes: [{ methods: ['POST'], parts: [3], produces: jsonType, handle: (call) => checkpoint(host, call) }],
});

/** Returns the services of the read-only port (kubelet `InstallAuthNotRequiredHandlers`). */
export function openServices(deps: OpenDeps): readonly Service[] {
  const { host } = deps;
  return [
    ...healthServices(healthChecks(host)),
    {
      patterns: bothOf('/pods'),
      routes: [{ methods: ['GET'], parts: [0], produces: jsonType, handle: () => podList(host.pods()) }],
    },
    {
      patterns: ['/stats/'],
      routes: [
        {
          methods: ['GET', 'POST'],
          parts: 'summary',
          produces: jsonType,
          handle: ({ query, request }) => summary(host, query, request.signal),
        },
      ],
    },
    ...metricServices(deps),
  ];
}

async function summary(host: ServerHost, query: URLSearchParams, signal: AbortSignal): Promise<Reply> {
  if (host.statsSummary) return json(await host.statsSummary(signal));
  if (!host.usage) return text(501, 'this provider keeps no statistics');
  const only = query.getAll('only_cpu_and_memory');
  const usage = await host.usage();
  const details = await usage.details?.();
  return json(statsSummary(host.nodeName, usage, only.length === 1 && only[0] === 'true', details));
}

/** Answers a checkpoint request as kubelet `Server.checkpoint` does: the last `timeout` counts, in seconds. */
async function checkpoint(host: ServerHost, { request, parts, query }: Call): Promise<Reply> {
  const [namespace = '', name = '', container = ''] = parts;
  const pod = host.podByName(namespace, name);
  if (!pod) return text(404, 'pod does not exist');
  if (!hasContainer(pod, container)) return text(404, `container ${container} does not exist`);
  if (!host.checkpoint) return text(404, 'this provider makes no checkpoints');
  const timeout = query.getAll('timeout').at(-1) ?? '0';
  if (!/^[+-]?\d+$/.test(timeout)) return text(404, 'cannot parse value of timeout parameter');
  try {
    const running = runningOnly(await host.runningPods()).find(({ uid }) => uid === pod.metadata?.uid);
    const found = running?.containers.find((one) => one.name === container);
    if (!found) throw new AgentError('not_found', `container ${container} not found`);
    const items = await host.checkpoint(refOf(pod, container, found.id), Number(timeout), request.signal);
    return json({ items });
  } catch (reason) {
    return text(500, `checkpointing of ${parts.join('/')} failed (${messageOf(reason)})`);
  }
}

/** Returns the services of `/metrics` and the paths below it. */
function metricServices({ host, serverMetrics, openMetrics = true }: OpenDeps): readonly Service[] {
  const { metrics, probeMetrics } = host;
  const checks = healthChecks(host);
  const at = (
    path: string,
    families: () => Promise<readonly MetricFamily[]> | readonly MetricFamily[],
  ): Service => ({
    patterns: [path],
    routes: async ({ request }) => metricsReply(await families(), request, openMetrics),
  });
  const usage = (): Promise<Usage | undefined> =>
    (host.usage?.() ?? Promise.resolve(undefined)).catch(() => undefined);
  return [
    at('/metrics', () => [...(metrics?.() ?? []), ...serverMetrics()]),
    ...(host.resourceMetrics
      ? [{ patterns: ['/metrics/resource'], routes: resourcePage(host.resourceMetrics) }]
      : [at('/metrics/resource', async () => resourceMetrics(await usage()))]),
    at('/metrics/cadvisor', async () => {
      const used = await usage();
      return used ? cadvisorMetrics(used, await used.cgroups?.()) : [];
    }),
    at('/metrics/probes', () => probeMetrics?.() ?? []),
    {
      patterns: ['/metrics/slis'],
      routes: ({ request }) => {
        if (request.method !== 'DELETE') return metricsReply(healthMetrics(checks), request, openMetrics);
        resetHealthMetrics(checks);
        return text(200, 'metrics reset\n');
      },
    },
  ];
}

/** Returns a page that the provider's backend rendered. */
const resourcePage =
  (page: NonNullable<ServerHost['resourceMetrics']>): Handler =>
  async ({ request }) => ({
    status: 200,
    headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: Buffer.from(await page(request.signal)),
  });

const component = 'kubelet';
const statuszPaths = ['/configz', '/debug', '/flagz', '/healthz', '/metrics'];
const noSniff = { 'X-Content-Type-Options': 'nosniff' };

/** Returns the services of `/configz`, `/flagz` and `/statusz` for which the host has data. */
function pageServices({ host, clock }: ServicesDeps): readonly Service[] {
  const { configz, flags, program } = host;
  const pages: Service[] = [];
  if (configz)
    pages.push({ patterns: ['/configz'], routes: () => json({ kubeletconfig: configz() }, noSniff) });
  if (flags)
    pages.push({
      patterns: ['/flagz'],
      routes: ({ request }) => zpage(flagzPage(component, flags()), request),
    });
  if (program)
    pages.push({
      patterns: ['/statusz'],
      routes: ({ request }) => zpage(statuszPage(component, program, statuszPaths, clock.now()), request),
    });
  return pages;
}

/** Returns the services that look into pods. */
export function debuggingServices(deps: ServicesDeps): readonly Service[] {
  const { host } = deps;
  return [
    {
      patterns: bothOf('/containerLogs'),
      routes: [
        {
          methods: ['GET'],
          parts: [3],
          handle: ({ request, query, parts: [namespace = '', name = '', container = ''] }) =>
            containerLogs(deps, { namespace, name, container }, query, request),
        },
      ],
    },
    {
      patterns: ['/runningpods/'],
      routes: [
        {
          methods: ['GET'],
          parts: [0],
          produces: jsonType,
          handle: async () => runningPodList(runningOnly(await host.runningPods())),
        },
      ],
    },
    ...fileServices(deps),
    ...flagServices(deps),
  ];
}

const verbosityPath = '/debug/flags/v';

/** Returns the service of `/debug/flags/v`: a PUT sets the log verbosity. */
function flagServices({ host: { setVerbosity }, disabled = {} }: ServicesDeps): readonly Service[] {
  if (disabled.debugFlags === true) return [disabledService(verbosityPath, 'flags endpoint is disabled.\n')];
  if (!setVerbosity) return [];
  const answer = (status: number, body: string): Reply => ({
    status,
    headers: { 'Content-Type': 'text/plain', ...noSniff },
    body: `${body}\n`,
  });
  return [
    {
      patterns: [verbosityPath],
      routes: async ({ request }) => {
        if (request.method !== 'PUT') return answer(406, 'unsupported http method');
        const verbosity = (await request.body?.())?.toString() ?? '';
        const fault = verbosityFault(verbosity);
        if (fault !== undefined) return answer(400, fault);
        setVerbosity(Number(verbosity));
        return answer(200, `successfully set klog.logging.verbosity to ${verbosity}`);
      },
    },
  ];
}

/**
 * Returns the kubelet's error for an invalid verbosity. As `GlogSetter` does, the number is read first as unsigned 32 bits and then as
 * signed.
 */
function verbosityFault(verbosity: string): string | undefined {
  const unsigned = `strconv.ParseUint: parsing ${goQuote(verbosity)}`;
  if (!/^\d+$/.test(verbosity)) return `${unsigned}: invalid syntax`;
  if (Number(verbosity) > 0xffff_ffff) return `${unsigned}: value out of range`;
  if (Number(verbosity) <= 0x7fff_ffff) return undefined;
  return `failed set klog.logging.verbosity ${verbosity}: strconv.ParseInt: parsing ${goQuote(verbosity)}: value out of range`;
}

/** Returns the services of `/logs/` and `/debug/pprof/`. */
function fileServices({ host: { logsRoot, commandLine }, disabled = {} }: ServicesDeps): readonly Service[] {
  const services: Service[] = [];
  if (disabled.logs === true) services.push(disabledService('/logs/', 'logs endpoint is disabled.\n'));
  else if (logsRoot !== undefined)
    services.push({
      patterns: ['/logs/'],
      routes: [
        {
          methods: ['GET'],
          parts: 'any',
          handle: ({ request, parts }) =>
            nodeLogs(logsRoot, parts, decodedPath(splitTarget(request.target).path).endsWith('/')),
        },
      ],
    });
  if (disabled.profiling === true)
    services.push(disabledService('/debug/pprof/', 'profiling endpoint is disabled.\n'));
  else if (commandLine)
    services.push({
      patterns: ['/debug/pprof/'],
      routes: [
        {
          methods: ['GET'],
          parts: 'some',
          handle: ({ parts }) =>
            parts.join('/') === 'cmdline'
              ? text(200, commandLine.join('\0'), noSniff)
              : httpError(404, 'Unknown profile'),
        },
      ],
    });
  return services;
}

const debugPaths = [
  '/run/',
  '/exec/',
  '/attach/',
  '/portForward/',
  '/containerLogs/',
  '/runningpods/',
  '/logs/',
  '/debug/pprof/',
];

/** Services that replace the debugging services where those are turned off. */
export const disabledServices: readonly Service[] = debugPaths.map((path) =>
  disabledService(path, 'Debug endpoints are disabled.\n'),
);

function disabledService(path: string, why: string): Service {
  return { patterns: [path], routes: () => text(405, why, { 'X-Content-Type-Options': 'nosniff' }) };
}
