import type { BackendEvent } from '../../provider/hooks.ts';
import { type EciContainerGroup, instantOf } from './container-group.ts';
import { type EciOwner, identityOf } from './ownership.ts';

/** How many groups' events are remembered at most. */
const mostGroups = 20_000;

/**
 * EventForwarder turns the events that listings show of groups into events of their pods, each once: again only when the service has counted
 * it up. Events of before the start are not forwarded.
 */
export class EventForwarder {
  readonly #owner: EciOwner;
  readonly #since: number;
  /** By group ID: the counts that were forwarded, by event. */
  readonly #forwarded = new Map<string, Map<string, number>>();

  /** @param since ms since the epoch */
  constructor(owner: EciOwner, since: number) {
    this.#owner = owner;
    this.#since = since;
  }

  /** The events of a complete listing that are new. */
  newOf(groups: readonly EciContainerGroup[]): readonly BackendEvent[] {
    const ids = new Set(groups.map(({ ContainerGroupId }) => ContainerGroupId));
    for (const id of this.#forwarded.keys()) if (!ids.has(id)) this.#forwarded.delete(id);
    return groups.flatMap((group) => this.#newOfGroup(group));
  }

  #newOfGroup(group: EciContainerGroup): BackendEvent[] {
    const pod = identityOf(group, this.#owner);
    if (!pod || this.#forwarded.size > mostGroups) return [];
    const counts = this.#forwarded.get(group.ContainerGroupId) ?? new Map<string, number>();
    this.#forwarded.set(group.ContainerGroupId, counts);
    return (group.Events ?? []).flatMap(
      ({ Name, Reason = '', Message = '', Type, Count = 1, LastTimestamp }) => {
        const key = Name === undefined || Name === '' ? `${Reason}\n${Message}` : Name;
        if ((counts.get(key) ?? 0) >= Count) return [];
        counts.set(key, Count);
        if ((instantOf(LastTimestamp) ?? this.#since) < this.#since) return [];
        return [
          { pod, type: Type === 'Warning' ? 'Warning' : 'Normal', reason: Reason || 'ECI', message: Message },
        ] as const;
      },
    );
  }
}
