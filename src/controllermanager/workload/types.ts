import type { Wire } from '../../controller/types.ts';
import type { kinds } from '../../controller/kinds.ts';
import type { ObjectOf } from '../../controller/types.ts';
import type { V1PodTemplateSpec } from '@kubernetes/client-node';

export type Pod = ObjectOf<typeof kinds.Pod>;
export type ReplicaSet = ObjectOf<typeof kinds.ReplicaSet>;
export type Deployment = ObjectOf<typeof kinds.Deployment>;
export type StatefulSet = ObjectOf<typeof kinds.StatefulSet>;
export type DaemonSet = ObjectOf<typeof kinds.DaemonSet>;
export type Node = ObjectOf<typeof kinds.Node>;
export type Service = ObjectOf<typeof kinds.Service>;
export type ControllerRevision = ObjectOf<typeof kinds.ControllerRevision>;
export type Claim = ObjectOf<typeof kinds.PersistentVolumeClaim>;
export type Job = ObjectOf<typeof kinds.Job>;
export type CronJob = ObjectOf<typeof kinds.CronJob>;
export type PodTemplate = Wire<V1PodTemplateSpec>;

/** A condition of a workload's status. */
export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
  lastProbeTime?: string;
}
