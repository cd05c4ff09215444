import type { Context, Span, TracerProvider } from '@opentelemetry/api';
import { messageOf } from './errors.ts';

/** What is said of a span, under OpenTelemetry's names. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** How a span begins. */
export interface SpanOptions {
  /** Default: `internal`. */
  readonly kind?: 'internal' | 'server' | 'client';
  readonly attributes?: SpanAttributes;
  /** `none`: a trace of its own. Headers: the trace that they carry, if they do. Default: the span that is active here. */
  readonly parent?: 'none' | Readonly<Record<string, string | string[] | undefined>>;
}

/** A span that has begun. */
export interface OpenSpan {
  /** Runs `work` inside: spans that it begins, then or later, are children of this one. */
  within<T>(work: () => T): T;
  /** What carries the span to another process: W3C `traceparent`, unless the user's SDK says otherwise. */
  headers(): Readonly<Record<string, string>>;
  set(attributes: SpanAttributes): void;
  /** Ends it; with a reason: as failed. Only the first end counts. */
  end(failure?: unknown): void;
}

/** Begins spans. Who is given none traces nothing and pays nothing. */
export interface Tracer {
  start(name: string, options?: SpanOptions): OpenSpan;
  /** Runs `work` in no span: for what outlives the one that is active here. */
  detached<T>(work: () => T): T;
}

/** Runs `work` in a span that ends with it; what it throws is the span's failure, and passes on. */
export async function traced<T>(
  tracer: Tracer,
  name: string,
  options: SpanOptions,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const span = tracer.start(name, options);
  try {
    const result = await span.within(() => work(span));
    span.end();
    return result;
  } catch (reason) {
    span.end(reason);
    throw reason;
  }
}

/** Whether this process has an OpenTelemetry SDK registered; loads nothing. */
export function hasTracerProvider(): boolean {
  const registered: unknown = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'));
  return typeof registered === 'object' && registered !== null && 'trace' in registered;
}

/**
 * Spans by OpenTelemetry: the API package alone is loaded, now. The SDK that the user has registered says where they go, carries the active span
 * (its context manager) and writes the headers (its propagator).
 *
 * @param tracerProvider instead of the registered one
 */
export async function openTelemetryTracer(tracerProvider?: TracerProvider): Promise<Tracer> {
  const { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } =
    await import('@opentelemetry/api');
  const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT };
  const tracer = (tracerProvider ?? trace).getTracer('podtender');
  const contextOf = (parent: SpanOptions['parent']): Context => {
    if (parent === undefined) return context.active();
    return parent === 'none' ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, parent);
  };
  const open = (span: Span, inside: Context): OpenSpan => {
    let ended = false;
    return {
      within: (work) => context.with(inside, work),
      headers: () => {
        const headers: Record<string, string> = {};
        propagation.inject(inside, headers);
        return headers;
      },
      set: (attributes) => void span.setAttributes(attributes),
      end: (failure) => {
        if (ended) return;
        ended = true;
        if (failure !== undefined) {
          const message = messageOf(failure);
          span.recordException(failure instanceof Error ? failure : message);
          span.setStatus({ code: SpanStatusCode.ERROR, message });
        }
        span.end();
      },
    };
  };
  return {
    start: (name, { kind = 'internal', attributes = {}, parent } = {}) => {
      const outside = contextOf(parent);
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, outside);
      return open(span, trace.setSpan(outside, span));
    },
    detached: (work) => context.with(ROOT_CONTEXT, work),
  };
}
