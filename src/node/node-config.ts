import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Lease, Node } from '../kube/types.ts';
import type { NodeIdentity } from './register.ts';
import type { ReadyFaults } from './setters/conditions.ts';
import type { NodeStatusSetter } from './setters/setter.ts';

/** What becomes of the Node when the agent stops in order. */
export type ExitPolicy = 'keep' | 'notReady' | 'cordon' | 'delete';

/** How a node is represented. Defaults are kubelet's; pings and lease also virtual-kubelet's. */
export interface NodeControllerConfig {
  readonly identity: NodeIdentity;
  readonly clock: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
  /** Every part of the status but Ready, in the order of its fold. */
  readonly setters: readonly NodeStatusSetter[];
  /** The Node as a watch tells of it, so that what others change is seen; without one, what was read or written here is trusted. */
  readonly watchedNode?: () => Node | undefined;
  /** What beside the provider's ping keeps the node from being ready. */
  readonly readyFaults?: () => ReadyFaults;
  /** Counts ephemeral storage as a capacity that must be known. Default true. */
  readonly localStorage?: boolean;
  /** Default true; false: the Node is somebody else's to make (R253). */
  readonly registerNode?: boolean;
  /** Registers again when the Node was deleted. Default false, as the kubelet (R264). */
  readonly registerAgain?: boolean;
  /** Default 10 s. */
  readonly pingIntervalMs?: number;
  /** A ping that takes longer counts as failed. Default 2 min; `Infinity`: none, as with virtual-kubelet. */
  readonly pingTimeoutMs?: number;
  /** How often the status is worked out. Default 10 s (kubelet nodeStatusUpdateFrequency). */
  readonly statusUpdateIntervalMs?: number;
  /** A status without news is sent after this long. Default 5 min (kubelet nodeStatusReportFrequency). */
  readonly statusReportIntervalMs?: number;
  /** Default 40; 0: no lease. */
  readonly leaseDurationSeconds?: number;
  /** Default a quarter of the lease's duration. */
  readonly leaseRenewIntervalMs?: number;
  /** Default `keep`. */
  readonly exitPolicy?: ExitPolicy;
  /** A status could not be sent after all tries. What it throws ends the controller; otherwise the next round tries again. */
  readonly onStatusUpdateError?: (reason: unknown) => void | Promise<void>;
  /** Heartbeats fail repeatedly: connections may be dead (R257). */
  readonly onHeartbeatFailure?: () => void;
  /** A second agent renews this node's lease. */
  readonly onDuplicate?: (lease: Lease) => void;
}

/** virtual-kubelet's own rhythm: ping 10 s, status 1 min beside a lease, lease 40 s. */
export const virtualKubeletDefaults: Pick<
  NodeControllerConfig,
  'pingIntervalMs' | 'statusUpdateIntervalMs' | 'leaseDurationSeconds'
> = { pingIntervalMs: 10_000, statusUpdateIntervalMs: 60_000, leaseDurationSeconds: 40 };
