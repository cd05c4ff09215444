import { type EciContainerGroup, hasEnded, instantOf } from './container-group.ts';
import type { ObservedGroup } from './convert-status.ts';
import { type EciOwner, type GroupIdentity, identityOf } from './ownership.ts';

/** What is known of one pod's group. */
interface Entry {
  readonly identity: GroupIdentity;
  readonly groupId: string;
  group: EciContainerGroup;
  observedAt: number;
  /** When the provider made it or first heard of it, ms since the epoch. */
  readonly since: number;
  /** A listing has shown it. */
  seen: boolean;
  /** In how many complete listings in a row it was missing, and when for the first time. */
  misses: number;
  missingSince: number;
  gone: boolean;
  deleting: boolean;
}

/** A complete listing: all pages of it arrived. */
export interface CompleteListing {
  readonly groups: readonly EciContainerGroup[];
  /** When its first page was asked for and its last one arrived, ms since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** What a listing brought: pods whose groups changed, and groups that are there twice. */
export interface ListingOutcome {
  readonly changed: readonly string[];
  /** IDs of live groups of a pod that already has an older one. */
  readonly doubled: readonly string[];
}

/** A group that listings have shown is gone when two complete ones in a row, this far apart, lack it. */
const goneAfterMs = 30_000;
/** A group that was just made may take this long to show up in listings. */
const visibleAfterMs = 300_000;

/**
 * GroupStore holds the container groups of this node by pod UID. It is pure: listings go in, observations come out. A group is gone only when
 * complete listings say so repeatedly, or after it was deleted; an ended or gone group stays until its pod is removed, so that its final state
 * can be reported.
 */
export class GroupStore {
  readonly #owner: EciOwner;
  readonly #entries = new Map<string, Entry>();

  constructor(owner: EciOwner) {
    this.#owner = owner;
  }

  get(uid: string): ObservedGroup | undefined {
    return this.#entries.get(uid);
  }

  get size(): number {
    return this.#entries.size;
  }

  all(): readonly ObservedGroup[] {
    return [...this.#entries.values()];
  }

  /** IDs of the groups that are being deleted and still there. */
  deleting(): readonly string[] {
    return [...this.#entries.values()]
      .filter(({ deleting, gone }) => deleting && !gone)
      .map(({ groupId }) => groupId);
  }

  /** IDs of the groups that are not known to be gone. */
  present(): readonly string[] {
    return [...this.#entries.values()].filter(({ gone }) => !gone).map(({ groupId }) => groupId);
  }

  /** Notes a group that was just made, before any listing shows it. */
  created(identity: GroupIdentity, groupId: string, now: number): void {
    if (this.#entries.get(identity.uid)?.groupId === groupId) return;
    const group = {
      ContainerGroupId: groupId,
      Status: 'Scheduling',
      CreationTime: new Date(now).toISOString(),
    };
    this.#entries.set(identity.uid, entryOf(identity, group, { now, seen: false }));
  }

  /** Notes a group that an earlier agent reported and that the first listing lacks: it is gone if listings go on to lack it. */
  expected(identity: GroupIdentity, group: EciContainerGroup, now: number): void {
    if (!this.#entries.has(identity.uid))
      this.#entries.set(identity.uid, entryOf(identity, group, { now, seen: true }));
  }

  /** Notes that the deletion of a pod's group was asked for. */
  markDeleting(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry) entry.deleting = true;
  }

  /** Forgets a pod whose group is gone or was never there. */
  forget(uid: string): void {
    this.#entries.delete(uid);
  }

  /** Takes over a complete listing of this node's groups. */
  applyListing({ groups, startedAt, endedAt }: CompleteListing): ListingOutcome {
    const { first, doubled } = this.#oldestOfEach(groups);
    const changed = [...first]
      .filter(([uid, group]) => this.#update(uid, group, endedAt))
      .map(([uid]) => uid);
    for (const [uid, entry] of this.#entries)
      if (!first.has(uid) && !entry.gone && entry.since < startedAt && this.#miss(entry, endedAt))
        changed.push(uid);
    return { changed, doubled };
  }

  /** Takes over the answer to a question for some groups by ID: those that are missing are gone if they were being deleted. */
  applyNamed(
    requested: readonly string[],
    { groups, startedAt, endedAt }: CompleteListing,
  ): readonly string[] {
    const byId = new Map(groups.map((group) => [group.ContainerGroupId, group]));
    const ids = new Set(requested);
    const changed: string[] = [];
    for (const [uid, entry] of this.#entries) {
      if (!ids.has(entry.groupId)) continue;
      const group = byId.get(entry.groupId);
      if (group ? this.#update(uid, group, endedAt) : entry.since < startedAt && this.#miss(entry, endedAt))
        changed.push(uid);
    }
    return changed;
  }

  /** Takes over newer states of groups that are there already; others wait for the next listing. */
  applyStates(groups: readonly EciContainerGroup[], now: number): readonly string[] {
    const byId = new Map(groups.map((group) => [group.ContainerGroupId, group]));
    return [...this.#entries].flatMap(([uid, entry]) => {
      const newer = byId.get(entry.groupId);
      return newer && this.#update(uid, mergeStates(entry.group, newer), now) ? [uid] : [];
    });
  }

  /** Of each pod its oldest live group, or its newest ended one where none lives. */
  #oldestOfEach(groups: readonly EciContainerGroup[]): {
    readonly first: ReadonlyMap<string, EciContainerGroup>;
    readonly doubled: readonly string[];
  } {
    const first = new Map<string, EciContainerGroup>();
    const doubled: string[] = [];
    const byAge = groups.toSorted(
      (a, b) => (instantOf(a.CreationTime) ?? 0) - (instantOf(b.CreationTime) ?? 0),
    );
    for (const group of byAge) {
      const uid = identityOf(group, this.#owner)?.uid;
      if (uid === undefined) continue;
      const older = first.get(uid);
      if (older === undefined || older.ContainerGroupId === group.ContainerGroupId || hasEnded(older))
        first.set(uid, group);
      else if (!hasEnded(group)) doubled.push(group.ContainerGroupId);
    }
    return { first, doubled };
  }

  /** @returns whether anything is different now */
  #update(uid: string, group: EciContainerGroup, now: number): boolean {
    const entry = this.#entries.get(uid);
    if (entry?.groupId !== group.ContainerGroupId) {
      const identity = identityOf(group, this.#owner);
      if (!identity) return false;
      this.#entries.set(uid, entryOf(identity, group, { now, seen: true }));
      return true;
    }
    const isSame = !entry.gone && JSON.stringify(entry.group) === JSON.stringify(group);
    Object.assign(entry, { observedAt: now, seen: true, misses: 0, gone: false });
    // a group that is the same stays the same object, so that what is derived from it need not be made anew
    if (!isSame) entry.group = group;
    return !isSame;
  }

  /** @returns whether the group is known to be gone now */
  #miss(entry: Entry, now: number): boolean {
    if (!entry.deleting && !entry.seen && now - entry.since < visibleAfterMs) return false;
    if (entry.misses === 0) entry.missingSince = now;
    entry.misses++;
    if (!entry.deleting && (entry.misses < 2 || now - entry.missingSince < goneAfterMs)) return false;
    entry.gone = true;
    entry.observedAt = now;
    return true;
  }
}

const entryOf = (
  identity: GroupIdentity,
  group: EciContainerGroup,
  { now, seen }: { readonly now: number; readonly seen: boolean },
): Entry => ({
  identity,
  groupId: group.ContainerGroupId,
  group,
  observedAt: now,
  since: now,
  seen,
  misses: 0,
  missingSince: 0,
  gone: false,
  deleting: false,
});

/** A group with the states of a newer, shorter view of it. */
function mergeStates(group: EciContainerGroup, newer: EciContainerGroup): EciContainerGroup {
  const states = new Map((newer.Containers ?? []).map((container) => [container.Name, container]));
  const merged = (list: EciContainerGroup['Containers']): NonNullable<EciContainerGroup['Containers']> =>
    (list ?? []).map((container) => ({ ...container, ...states.get(container.Name) }));
  const inits = new Set((group.InitContainers ?? []).map(({ Name }) => Name));
  const listed = new Set([...inits, ...(group.Containers ?? []).map(({ Name }) => Name)]);
  const added = (newer.Containers ?? []).filter(({ Name }) => !listed.has(Name));
  return {
    ...group,
    ...(newer.Status !== undefined && { Status: newer.Status }),
    ...(newer.IntranetIp !== undefined && newer.IntranetIp !== '' && { IntranetIp: newer.IntranetIp }),
    InitContainers: merged(group.InitContainers),
    Containers: [...merged(group.Containers), ...added],
  };
}
