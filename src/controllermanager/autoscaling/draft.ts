import { withCondition } from '../../apimachinery/conditions.ts';
import { seconds } from '../../apimachinery/times.ts';
import type { Condition } from '../workload/types.ts';
import type { MetricFailure } from './autoscaler-metrics.ts';
import type { Autoscaler, AutoscalerStatus, MetricStatus } from './autoscaler-types.ts';

/** Draft is the status of an autoscaler in the making. */
export class Draft {
  readonly #now: string;
  status: AutoscalerStatus;

  constructor({ status }: Autoscaler, now: number) {
    this.#now = seconds(now);
    const { conditions = [], ...rest } = status ?? { desiredReplicas: 0 };
    this.status = { ...rest, conditions };
  }

  condition(type: string, status: 'True' | 'False', { reason, message }: MetricFailure): void {
    const set = { type, status, reason, message, lastTransitionTime: this.#now };
    const conditions = withCondition<Condition>(this.status.conditions ?? [], set);
    this.status = { ...this.status, conditions };
  }

  sizes(current: number, desired: number, metrics: readonly MetricStatus[]): void {
    const { lastScaleTime, conditions } = this.status;
    this.status = {
      currentReplicas: current,
      desiredReplicas: desired,
      ...(lastScaleTime !== undefined && { lastScaleTime }),
      currentMetrics: [...metrics],
      conditions: conditions ?? [],
    };
  }

  scaled(): void {
    this.status = { ...this.status, lastScaleTime: this.#now };
  }
}
