/** A state of a container, current or previous, as the service shows it. Times are RFC 3339 texts; an empty one is unset. */
export interface EciContainerState {
  readonly State?: string;
  readonly DetailStatus?: string;
  readonly Reason?: string;
  readonly Message?: string;
  readonly StartTime?: string;
  readonly FinishTime?: string;
  readonly ExitCode?: number;
  readonly Signal?: number;
}

/** A container of a group. */
export interface EciContainer {
  readonly Name?: string;
  readonly Image?: string;
  readonly Ready?: boolean;
  readonly RestartCount?: number;
  readonly CurrentState?: EciContainerState;
  readonly PreviousState?: EciContainerState;
}

/** An event of a group. */
export interface EciEvent {
  readonly Name?: string;
  readonly Type?: string;
  readonly Reason?: string;
  readonly Message?: string;
  readonly Count?: number;
  readonly FirstTimestamp?: string;
  readonly LastTimestamp?: string;
}

/** A container group as `DescribeContainerGroups` shows it, as far as the provider reads it. */
export interface EciContainerGroup {
  readonly ContainerGroupId: string;
  readonly ContainerGroupName?: string;
  readonly Status?: string;
  readonly RegionId?: string;
  readonly ZoneId?: string;
  readonly InstanceType?: string;
  readonly CreationTime?: string;
  readonly SucceededTime?: string;
  readonly FailedTime?: string;
  readonly ExpiredTime?: string;
  readonly IntranetIp?: string;
  readonly Ipv6Address?: string;
  readonly Tags?: readonly { readonly Key?: string; readonly Value?: string }[];
  readonly Containers?: readonly EciContainer[];
  readonly InitContainers?: readonly EciContainer[];
  readonly Events?: readonly EciEvent[];
}

/** The states in which a group has ended for good. */
const ended = new Set(['Succeeded', 'Failed', 'Expired', 'ScheduleFailed', 'Deleted']);

/** hasEnded turns true when none of the group's containers will run again; it stays true. */
export const hasEnded = ({ Status = '' }: EciContainerGroup): boolean => ended.has(Status);

/** tagOf returns the value of a tag of the group; undefined where it has none of that name. */
export const tagOf = ({ Tags = [] }: EciContainerGroup, key: string): string | undefined =>
  Tags.find(({ Key }) => Key === key)?.Value;

/** instantOf reads a time of the service as ms since the epoch; undefined where it is empty or no time. */
export function instantOf(text: string | undefined): number | undefined {
  const at = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
