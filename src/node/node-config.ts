import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Lease, Node } from '../kube/types.ts';
import type { NodeIdentity } from './register.ts';
import type { ReadyFaults } from './setters/conditions.ts';
import type { NodeStatusSetter } from './setters/setter.ts';

/** What happens to the Node when the agent is stopped. */
export type ExitPolicy = 'keep' | 'notReady' | 'cordon' | 'delete';

/** Configuration of the node controller. Defaults are the kubelet's; those of pings and lease are virtual-kubelet's as well. */
export interface NodeControllerConfig {
  readonly identity: NodeIdentity;
  readonly clock: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
  /** Setters of every part of the status except Ready, in order. */
  readonly setters: readonly NodeStatusSetter[];
  /** Returns the Node from a watch, so that changes by others are seen; absent: the Node last read or written by the controller is used. */
  readonly watchedNode?: () => Node | undefined;
  /** Returns further reasons for the node not to be ready, besides the provider's ping. */
  readonly readyFaults?: () => ReadyFaults;
  /** Require a known ephemeral storage capacity for Ready. Default true. */
  readonly localStorage?: boolean;
  /** Create the Node. Default true; false: another component creates it (R253). */
  readonly registerNode?: boolean;
  /** Register again after the Node was deleted. Default false, as in the kubelet (R264). */
  readonly registerAgain?: boolean;
  /** Interval of pings, ms. Default 10 s. */
  readonly pingIntervalMs?: number;
  /** Time limit of a ping, ms; a longer one counts as failed. Default 2 min; `Infinity`: none, as in virtual-kubelet. */
  readonly pingTimeoutMs?: number;
  /** Interval of status updates, ms. Default 10 s (kubelet nodeStatusUpdateFrequency). */
  readonly statusUpdateIntervalMs?: number;
  /** Interval of sending an unchanged status, ms. Default 5 min (kubelet nodeStatusReportFrequency). */
  readonly statusReportIntervalMs?: number;
  /** Duration of the lease, seconds. Default 40; 0: no lease. */
  readonly leaseDurationSeconds?: number;
  /** Interval of lease renewals, ms. Default: a quarter of the lease's duration. */
  readonly leaseRenewIntervalMs?: number;
  /** What happens to the Node when the agent is stopped. Default `keep`. */
  readonly exitPolicy?: ExitPolicy;
  /**
   * Called when a status update failed after all retries. An error that it throws ends the controller; otherwise the next round retries.
   */
  readonly onStatusUpdateError?: (reason: unknown) => void | Promise<void>;
  /** Called when heartbeats fail repeatedly: connections may be dead (R257). */
  readonly onHeartbeatFailure?: () => void;
  /** Called when a second agent renews this node's lease. */
  readonly onDuplicate?: (lease: Lease) => void;
}

/** virtual-kubelet's intervals: ping 10 s, status 1 min with a lease, lease 40 s. */
export const virtualKubeletDefaults: Pick<
  NodeControllerConfig,
  'pingIntervalMs' | 'statusUpdateIntervalMs' | 'leaseDurationSeconds'
> = { pingIntervalMs: 10_000, statusUpdateIntervalMs: 60_000, leaseDurationSeconds: 40 };
