import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { hasTracerProvider, openTelemetryTracer, type Tracer } from '../base/tracing.ts';
import type { TracingConfiguration } from '../options/kubelet/kubelet-configuration.ts';

/** The exporter of spans while the command runs. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Sends the remaining spans, for two seconds at most. */
  stop(): Promise<void>;
}

/** The source of a trace, and other dependencies. */
export interface TracingDeps {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The kubelet's endpoint when `tracing.endpoint` is not set. */
const defaultEndpoint = 'localhost:4317';
const flushMs = 2000;

/**
 * Sets up tracing by the `tracing` settings: spans are sent to their OTLP collector. Without the settings, uses the SDK that the user has
 * registered in this process (`node --import`); without one, traces nothing and loads nothing.
 *
 * Follows kubelet `newTracerProvider`: a request with a sampled parent is traced; of the others, `samplingRatePerMillion` (default:
 * none).
 *
 * @throws {AgentError} `failed_precondition` when the required packages are not installed
 */
export async function startTracing(
  settings: TracingConfiguration | undefined,
  deps: TracingDeps,
): Promise<Tracing | undefined> {
  if (settings) return await exportSpans(settings, deps);
  if (!hasTracerProvider()) return undefined;
  return { tracer: await openTelemetryTracer(), stop: () => Promise.resolve() };
}

async function exportSpans(
  { endpoint = defaultEndpoint, samplingRatePerMillion = 0 }: TracingConfiguration,
  { nodeName, clock, logger }: TracingDeps,
): Promise<Tracing> {
  const { api, sdk, hooks, core, resources, otlp, grpc } = await loadSdk();
  const { diag, DiagLogLevel, trace, context, propagation } = api;
  const warn = (text: string): void => {
    logger.warn('cannot export spans', { err: text });
  };
  const quiet = (): void => undefined;
  const words = { error: warn, warn, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(words, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const url = collectorUrl(endpoint);
  const exporter = new otlp.OTLPTraceExporter({
    url,
    ...(!url.startsWith('https:') && { credentials: grpc.credentials.createInsecure() }),
  });
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': 'podtender', 'host.name': nodeName }),
    sampler: new sdk.ParentBasedSampler({
      root:
        samplingRatePerMillion > 0
          ? new sdk.TraceIdRatioBasedSampler(samplingRatePerMillion / 1_000_000)
          : new sdk.AlwaysOffSampler(),
    }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  const propagators = [new core.W3CTraceContextPropagator(), new core.W3CBaggagePropagator()];
  propagation.setGlobalPropagator(new core.CompositePropagator({ propagators }));
  return {
    tracer: await openTelemetryTracer(provider),
    stop: async () => {
      const sent = provider.shutdown().catch((reason: unknown) => {
        warn(messageOf(reason));
      });
      const patience = new AbortController();
      await Promise.race([sent, clock.sleep(flushMs, patience.signal).catch(quiet)]);
      patience.abort();
    },
  };
}

/** Converts the kubelet's endpoint for the exporter: without a scheme it is host and port, without TLS. */
export function collectorUrl(endpoint: string): string {
  if (/^(https?|unix|unix-abstract):/.test(endpoint)) return endpoint;
  return `http://${endpoint.replace(/^dns:\/\/([^/]*\/)?/, '')}`;
}

interface Sdk {
  readonly api: typeof import('@opentelemetry/api');
  readonly sdk: typeof import('@opentelemetry/sdk-trace');
  readonly hooks: typeof import('@opentelemetry/context-async-hooks');
  readonly core: typeof import('@opentelemetry/core');
  readonly resources: typeof import('@opentelemetry/resources');
  readonly otlp: typeof import('@opentelemetry/exporter-trace-otlp-grpc');
  readonly grpc: typeof import('@grpc/grpc-js');
}

async function loadSdk(): Promise<Sdk> {
  try {
    const [api, sdk, hooks, core, resources, otlp, grpc] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-grpc'),
      import('@grpc/grpc-js'),
    ]);
    return { api, sdk, hooks, core, resources, otlp, grpc };
  } catch (cause) {
    throw new AgentError(
      'failed_precondition',
      `tracing is set, but OpenTelemetry's SDK cannot be loaded (install the optional peer dependencies of podtender, or leave tracing out): ${messageOf(cause)}`,
      { cause },
    );
  }
}
