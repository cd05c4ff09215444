import type { Context, Span, TracerProvider } from '@opentelemetry/api';
import { messageOf } from './errors.ts';

/** The attributes of a span, with OpenTelemetry's names. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** The options of a new span. */
export interface SpanOptions {
  /** Default: `internal`. */
  readonly kind?: 'internal' | 'server' | 'client';
  readonly attributes?: SpanAttributes;
  /** `none` starts a new trace; headers continue the trace that they carry, if any. Default: the active span. */
  readonly parent?: 'none' | Readonly<Record<string, string | string[] | undefined>>;
}

/** A span that has not ended. */
export interface OpenSpan {
  /** Runs `work` inside the span: the spans that it starts, also later, are children of this one. */
  within<T>(work: () => T): T;
  /** The headers that carry the span to another process: W3C `traceparent`, unless the user's SDK uses others. */
  headers(): Readonly<Record<string, string>>;
  set(attributes: SpanAttributes): void;
  /** Ends the span, as failed when a reason is passed. Only the first call has an effect. */
  end(failure?: unknown): void;
}

/** Tracer starts spans. Without a tracer nothing is traced, at no cost. */
export interface Tracer {
  start(name: string, options?: SpanOptions): OpenSpan;
  /** Runs `work` outside of any span, for work that outlives the active one. */
  detached<T>(work: () => T): T;
}

/** Runs `work` in a span that ends with it. An error fails the span and is rethrown. */
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

/** True when an OpenTelemetry SDK is registered in this process. Loads no module. */
export function hasTracerProvider(): boolean {
  const registered: unknown = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'));
  return typeof registered === 'object' && registered !== null && 'trace' in registered;
}

/**
 * Makes a tracer on top of OpenTelemetry. Loads only the API package. The SDK that the user has registered exports the spans, holds the
 * active span (its context manager) and writes the headers (its propagator).
 *
 * @param tracerProvider replaces the registered one
 *
 * @example
 * const agent = await Agent.create({ ...options, tracer: await openTelemetryTracer() });
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
