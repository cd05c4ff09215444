import type {
  CoreV1Event,
  V1ConfigMap,
  V1Container,
  V1ContainerState,
  V1ContainerStatus,
  V1EphemeralContainer,
  V1Lease,
  V1ListMeta,
  V1Namespace,
  V1Node,
  V1NodeCondition,
  V1NodeStatus,
  V1ObjectMeta,
  V1OwnerReference,
  V1Pod,
  V1PodCondition,
  V1PodSpec,
  V1PodStatus,
  V1Probe,
  V1ResourceRequirements,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1Status,
  V1Toleration,
  V1Volume,
} from '@kubernetes/client-node';

/**
 * A Kubernetes object in its JSON form: read-only, times as RFC 3339 text, fields under their API names
 * (client-node's `_continue` is `continue`). Unknown fields survive, as objects are never rebuilt from their type.
 */
export type Plain<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Plain<Item>[]
    : T extends object
      ? { readonly [K in keyof T as K extends `_${infer Name}` ? Name : K]: Plain<T[K]> }
      : T;

export type ObjectMeta = Plain<V1ObjectMeta>;
export type ListMeta = Plain<V1ListMeta>;
export type OwnerReference = Plain<V1OwnerReference>;
export type Pod = Plain<V1Pod>;
export type PodSpec = Plain<V1PodSpec>;
export type PodStatus = Plain<V1PodStatus>;
export type PodCondition = Plain<V1PodCondition>;
export type Container = Plain<V1Container>;
export type EphemeralContainer = Plain<V1EphemeralContainer>;
export type ContainerStatus = Plain<V1ContainerStatus>;
export type ContainerState = Plain<V1ContainerState>;
export type Probe = Plain<V1Probe>;
export type ResourceRequirements = Plain<V1ResourceRequirements>;
export type Toleration = Plain<V1Toleration>;
export type Volume = Plain<V1Volume>;
export type Node = Plain<V1Node>;
export type NodeStatus = Plain<V1NodeStatus>;
export type NodeCondition = Plain<V1NodeCondition>;
export type Lease = Plain<V1Lease>;
export type Secret = Plain<V1Secret>;
export type ConfigMap = Plain<V1ConfigMap>;
export type Service = Plain<V1Service>;
export type ServiceAccount = Plain<V1ServiceAccount>;
export type Namespace = Plain<V1Namespace>;
export type Event = Plain<CoreV1Event>;
export type Status = Plain<V1Status>;

/** The phases of a pod; `Succeeded` and `Failed` are terminal. */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

/** Members shared by all API objects. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

/** A list response of the API server. */
export interface KubeList<T extends KubeObject> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ListMeta;
  readonly items: readonly T[];
}
