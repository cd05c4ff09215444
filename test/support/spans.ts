import { context, propagation, type Attributes, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { openTelemetryTracer, type Tracer } from '../../src/base/tracing.ts';

/** A span and its children. */
export interface SpanTree {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Attributes;
  /** The failure; absent when the span has not failed. */
  readonly failure?: string;
  readonly children: readonly SpanTree[];
}

/** An SDK that holds the spans of this process in memory, registered like a user's SDK. */
export class Spans {
  readonly tracer: Tracer;
  readonly #exporter: InMemorySpanExporter;

  private constructor(exporter: InMemorySpanExporter, tracer: Tracer) {
    this.#exporter = exporter;
    this.tracer = tracer;
  }

  static async record(): Promise<Spans> {
    const exporter = new InMemorySpanExporter();
    const processor = new SimpleSpanProcessor({ exporter });
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    return new Spans(exporter, await openTelemetryTracer());
  }

  /** The ended root spans, oldest first, each with its descendants. */
  roots(): readonly SpanTree[] {
    const all = this.#exporter.getFinishedSpans();
    const ids = new Set(all.map((span) => span.spanContext().spanId));
    return all
      .filter(({ parentSpanContext: parent }) => !parent || !ids.has(parent.spanId))
      .map((span) => treeOf(span, all));
  }

  reset(): void {
    this.#exporter.reset();
  }

  /** Ends the registration. */
  stop(): void {
    trace.disable();
    context.disable();
    propagation.disable();
  }
}

function treeOf(span: ReadableSpan, all: readonly ReadableSpan[]): SpanTree {
  const { spanId, traceId } = span.spanContext();
  return {
    name: span.name,
    traceId,
    parentSpanId: span.parentSpanContext?.spanId,
    attributes: span.attributes,
    ...(span.status.message !== undefined && { failure: span.status.message }),
    children: all
      .filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId)
      .map((child) => treeOf(child, all)),
  };
}

/** The names of a tree, a line for each span, two spaces deeper than its parent. */
export const outline = ({ name, failure, children }: SpanTree, depth = 0): string =>
  [
    `${'  '.repeat(depth)}${name}${failure === undefined ? '' : ` failed: ${failure}`}`,
    ...children.map((child) => outline(child, depth + 1)),
  ].join('\n');
