import type { Clock } from '../base/clock.ts';
import { containerLogs } from './container-logs.ts';
import { type HealthCheck, healthz, healthzOf, log, ping } from './health.ts';
import type { ServerHost } from './host.ts';
import { podList, runningOnly, runningPodList } from './pod-lists.ts';
import { json, text } from './reply.ts';
import type { Service } from './services.ts';

/** What the services are made of. */
export interface ServicesDeps {
  readonly host: ServerHost;
  readonly clock: Clock;
  /** Feature gate PodLogsQuerySplitStreams. */
  readonly splitStreams: boolean;
  /** `enableDebuggingHandlers`: logs, exec, attach, port-forward and what runs. */
  readonly debugging: boolean;
}

const jsonType = 'application/json';

/** Patterns of a service that answers with and without a slash at the end. */
export const bothOf = (path: string): readonly string[] => [path, `${path}/`];

/** The health checks of the main port. */
export const healthChecks = (host: ServerHost): readonly HealthCheck[] => [
  ping,
  log,
  { name: 'syncloop', check: () => host.syncLoopFault() },
];

/** `/healthz` and one path a check. */
export const healthServices = (checks: readonly HealthCheck[]): readonly Service[] => [
  { patterns: ['/healthz'], routes: ({ query }) => healthz(checks, query) },
  ...checks.map(({ name }) => ({
    patterns: [`/healthz/${name}`],
    routes: () => healthzOf(checks, name),
  })),
];

/** `/pods`, `/configz` and health: what is there with and without debugging handlers. */
export function defaultServices({ host }: ServicesDeps): readonly Service[] {
  const { configz } = host;
  return [
    ...healthServices(healthChecks(host)),
    {
      patterns: bothOf('/pods'),
      routes: [{ methods: ['GET'], parts: [0], produces: jsonType, handle: () => podList(host.pods()) }],
    },
    ...(configz
      ? [
          {
            patterns: ['/configz'],
            routes: () => json({ kubeletconfig: configz() }, { 'X-Content-Type-Options': 'nosniff' }),
          },
        ]
      : []),
  ];
}

/** What lets people look into pods. */
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
  ];
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

/** In the place of the debugging services where they are turned off. */
export const disabledServices: readonly Service[] = debugPaths.map((path) => ({
  patterns: [path],
  routes: () => text(405, 'Debug endpoints are disabled.\n', { 'X-Content-Type-Options': 'nosniff' }),
}));
