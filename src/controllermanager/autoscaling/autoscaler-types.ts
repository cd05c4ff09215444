import type { kinds } from '../../controller/kinds.ts';
import type { KubeObject, ObjectOf } from '../../controller/types.ts';

export type Autoscaler = ObjectOf<typeof kinds.HorizontalPodAutoscaler>;
export type AutoscalerStatus = NonNullable<Autoscaler['status']>;
export type MetricSpec = NonNullable<NonNullable<Autoscaler['spec']>['metrics']>[number];
export type MetricStatus = NonNullable<AutoscalerStatus['currentMetrics']>[number];
export type ScalingRules = NonNullable<NonNullable<NonNullable<Autoscaler['spec']>['behavior']>['scaleUp']>;

/** The subresource `scale`. */
export interface Scale extends KubeObject {
  spec?: { replicas?: number };
  status?: { replicas?: number; selector?: string };
}

/** The usage of a pod, as metrics.k8s.io has it. */
export interface PodMetricsObject extends KubeObject {
  timestamp: string;
  window: string;
  containers: { name: string; usage: Record<string, string> }[];
}
