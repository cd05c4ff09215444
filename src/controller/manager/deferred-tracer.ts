import { hasTracerProvider, openTelemetryTracer, type OpenSpan, type Tracer } from '../../base/tracing.ts';

const noSpan: OpenSpan = {
  within: (work) => work(),
  headers: () => ({}),
  set: () => undefined,
  end: () => undefined,
};

/** DeferredTracer is OpenTelemetry's tracer, whose package is loaded only when it is used: spans before that are discarded. */
export class DeferredTracer implements Tracer {
  #tracer: Tracer | undefined;

  /** Loads the package. */
  async load(): Promise<void> {
    this.#tracer ??= await openTelemetryTracer();
  }

  start(...call: Parameters<Tracer['start']>): OpenSpan {
    return this.#tracer?.start(...call) ?? noSpan;
  }

  detached<T>(work: () => T): T {
    return this.#tracer ? this.#tracer.detached(work) : work();
  }
}

/** Returns a tracer if the user has registered an OpenTelemetry SDK. */
export const registeredTracer = (): DeferredTracer | undefined =>
  hasTracerProvider() ? new DeferredTracer() : undefined;
