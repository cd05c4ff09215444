import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { EciAction, EciParameters, EciValue } from './api.ts';
import type { EciCalls } from './calls.ts';
import type { EciContainer, EciContainerGroup, EciContainerState } from './container-group.ts';
import type { CompleteListing } from './group-store.ts';
import { type EciOwner, identityOf, ownerTags } from './ownership.ts';

/** The most that one page holds. */
const pageSize = 20;
/** A listing of more pages than this has lost its way. */
const mostPages = 5000;

export interface ListingsDeps {
  readonly calls: EciCalls;
  readonly clock: Clock;
  readonly region: string;
  readonly owner: EciOwner;
}

/** Listings reads groups from the service. A listing is complete or it throws: an error is never "no groups" (E1). */
export class Listings {
  readonly #deps: ListingsDeps;

  constructor(deps: ListingsDeps) {
    this.#deps = deps;
  }

  /** All groups of this node, with their events. */
  all(signal: AbortSignal): Promise<CompleteListing> {
    return this.#groups({ Tag: ownerTags(this.#deps.owner), WithEvent: true }, signal);
  }

  /** The groups of one pod, by its UID. */
  ofPod(uid: string, signal: AbortSignal): Promise<CompleteListing> {
    const tags: readonly EciValue[] = [...ownerTags(this.#deps.owner), { Key: 'UID', Value: uid }];
    return this.#groups({ Tag: tags }, signal);
  }

  /** Groups by ID; those that are gone are missing from the answer. */
  async named(ids: readonly string[], signal: AbortSignal): Promise<CompleteListing> {
    const startedAt = this.#deps.clock.now();
    const groups: EciContainerGroup[] = [];
    for (let at = 0; at < ids.length; at += pageSize) {
      const some = ids.slice(at, at + pageSize);
      const page = await this.#groups({ ContainerGroupIds: JSON.stringify(some) }, signal);
      const requested = new Set(some);
      groups.push(...page.groups.filter(({ ContainerGroupId }) => requested.has(ContainerGroupId)));
    }
    return { groups, startedAt, endedAt: this.#deps.clock.now() };
  }

  /** What changed within the last `sinceSeconds`, in short form: states and addresses. */
  async states(sinceSeconds: number, signal: AbortSignal): Promise<readonly EciContainerGroup[]> {
    const parameters = { Tag: ownerTags(this.#deps.owner), SinceSecond: sinceSeconds };
    const items = await this.#pages('DescribeContainerGroupStatus', 'Data', parameters, signal);
    return items.map((item) => groupOfState(item as StateItem));
  }

  async #groups(parameters: EciParameters, signal: AbortSignal): Promise<CompleteListing> {
    const { clock, owner } = this.#deps;
    const startedAt = clock.now();
    const items = await this.#pages('DescribeContainerGroups', 'ContainerGroups', parameters, signal);
    const byId = new Map(
      (items as readonly EciContainerGroup[]).map((group) => [group.ContainerGroupId, group]),
    );
    const groups = [...byId.values()].filter((group) => identityOf(group, owner) !== undefined);
    return { groups, startedAt, endedAt: clock.now() };
  }

  async #pages(
    action: EciAction,
    member: string,
    parameters: EciParameters,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    const items: unknown[] = [];
    let token: string | undefined;
    for (let page = 0; page < mostPages; page++) {
      const request = { ...parameters, RegionId: this.#deps.region, Limit: pageSize, NextToken: token };
      const answer = await this.#deps.calls.call(action, request, signal);
      const found = answer[member];
      if (!Array.isArray(found))
        throw new AgentError('unavailable', `${action}: the answer has no list "${member}"`);
      items.push(...(found as readonly unknown[]));
      const next = answer['NextToken'];
      if (typeof next !== 'string' || next === '') return items;
      if (next === token) throw new AgentError('unavailable', `${action}: the same page was announced again`);
      token = next;
    }
    throw new AgentError('unavailable', `${action}: more than ${String(mostPages)} pages`);
  }
}

/** A state of a container in the short form, as in a pod's status. */
interface StateMember {
  readonly Running?: { readonly StartedAt?: string };
  readonly Terminated?: {
    readonly ExitCode?: number;
    readonly Signal?: number;
    readonly Reason?: string;
    readonly Message?: string;
    readonly StartedAt?: string;
    readonly FinishedAt?: string;
  };
  readonly Waiting?: { readonly Reason?: string; readonly Message?: string };
}

interface StateItem {
  readonly ContainerGroupId: string;
  readonly Status?: string;
  readonly PodStatus?: {
    readonly PodIp?: string;
    readonly ContainerStatuses?: readonly {
      readonly Name?: string;
      readonly Image?: string;
      readonly Ready?: boolean;
      readonly RestartCount?: number;
      readonly State?: StateMember;
      readonly LastState?: StateMember;
    }[];
  };
}

function groupOfState({ ContainerGroupId, Status, PodStatus }: StateItem): EciContainerGroup {
  const containers = PodStatus?.ContainerStatuses?.map(
    ({ Name, Image, Ready, RestartCount, State, LastState }): EciContainer => ({
      ...(Name !== undefined && { Name }),
      ...(Image !== undefined && { Image }),
      ...(Ready !== undefined && { Ready }),
      ...(RestartCount !== undefined && { RestartCount }),
      ...(State && { CurrentState: stateOf(State) }),
      ...(LastState && Object.keys(LastState).length > 0 && { PreviousState: stateOf(LastState) }),
    }),
  );
  return {
    ContainerGroupId,
    ...(Status !== undefined && { Status }),
    ...(PodStatus?.PodIp !== undefined && { IntranetIp: PodStatus.PodIp }),
    ...(containers && { Containers: containers }),
  };
}

function stateOf({ Running, Terminated, Waiting }: StateMember): EciContainerState {
  if (Terminated) {
    const { StartedAt = '', FinishedAt = '', ...rest } = Terminated;
    return { State: 'Terminated', StartTime: StartedAt, FinishTime: FinishedAt, ...rest };
  }
  if (Running) return { State: 'Running', StartTime: Running.StartedAt ?? '' };
  return { State: 'Waiting', ...Waiting };
}
