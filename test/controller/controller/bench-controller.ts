import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { LogFields, Logger } from '../../../src/base/logger.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { Controller, type ControllerOptions } from '../../../src/controller/controller/controller.ts';
import { ControllerMetrics } from '../../../src/controller/metrics/controller-metrics.ts';
import type { Reconciler } from '../../../src/controller/reconcile.ts';
import { funcSource } from '../../../src/controller/source/channel-source.ts';
import type { SourceQueue } from '../../../src/controller/source/source.ts';
import type { Request } from '../../../src/controller/types.ts';
import { metricsText } from '../../../src/metrics/metrics.ts';

export interface Line extends LogFields {
  readonly level: string;
  readonly message: string;
}

/** Returns a logger that keeps its lines. */
export function keepingLogger(lines: Line[], fields: LogFields = {}): Logger {
  const at = (level: string) => (message: string, more?: LogFields) =>
    void lines.push({ ...fields, ...more, level, message });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (more) => keepingLogger(lines, { ...fields, ...more }),
  };
}

export const of = (name: string, namespace = 'default'): Request => ({ namespace, name });

/** A controller on a fake clock, whose source hands its queue out. */
export function benchController(
  reconcile: Reconciler['reconcile'],
  options: ControllerOptions = {},
  tracer?: ConstructorParameters<typeof Controller>[0]['tracer'],
) {
  const clock = new FakeClock(1_000_000);
  const lines: Line[] = [];
  const metrics = new ControllerMetrics();
  const controller = new Controller({
    name: 'web',
    reconciler: { reconcile },
    clock,
    random: systemRandom,
    logger: keepingLogger(lines),
    metrics: metrics.forController('web', options.maxConcurrentReconciles ?? 1),
    options,
    fields: { kind: 'Web' },
    ...(tracer && { tracer }),
  });
  const stop = new AbortController();
  let queue: SourceQueue | undefined;
  void controller.watch(
    funcSource((_, given) => {
      queue = given;
    }),
  );
  return {
    clock,
    lines,
    controller,
    stop,
    queue: (): SourceQueue => {
      if (!queue) throw new Error('the controller has not started');
      return queue;
    },
    /** The samples of a metric, without its name. */
    metric: (name: string): string[] =>
      metricsText(metrics.collect())
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`))
        .map((line) => line.slice(name.length)),
  };
}
