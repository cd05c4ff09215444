import { Observable, Subject, type Subscription } from 'rxjs';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import type { Logger } from '../base/logger.ts';
import type { EventRecorder } from '../kube/events.ts';
import { fullNameOf, nameOf, type PodSource, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import { mergeSnapshot, type SourceMemory } from './pod-storage.ts';
import type { PodUpdate, SourceSnapshot } from './pod-update.ts';

/** Dependencies of a {@link PodConfig}. */
export interface PodConfigDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  /** Called with each pod of every API snapshot before it is compared: the start of the startup latency. */
  readonly observedOnWatch?: (pod: Pod, now: number) => void;
}

/**
 * PodConfig merges the snapshots of all sources into one totally ordered stream of updates. Kubelet's `PodConfig` (R1 to R16).
 *
 * Updates before the first subscription are buffered for the first subscriber, so the order of wiring does not matter.
 *
 * @example
 * const config = new PodConfig({ clock, recorder, logger });
 * config.updates.subscribe((update) => handle(update));
 * config.addSource('file', fileSource({ clock, fs: nodeFiles, watch: watchFiles, onError }, options));
 */
export class PodConfig {
  readonly #deps: PodConfigDeps;
  readonly #sources = new Map<PodSource, Subscription>();
  readonly #memories = new Map<PodSource, SourceMemory>();
  readonly #updates = new Subject<PodUpdate>();
  #buffered: PodUpdate[] = [];

  /** All changes of all sources, in order (R3). Completes on {@link stop} (R39). */
  readonly updates: Observable<PodUpdate>;

  constructor(deps: PodConfigDeps) {
    this.#deps = deps;
    this.updates = new Observable((listener) => {
      const buffered = this.#buffered;
      this.#buffered = [];
      for (const update of buffered) listener.next(update);
      return this.#updates.subscribe(listener);
    });
  }

  /**
   * Adds a source, which must be seen before {@link seenAllSources} is true, and subscribes to its snapshots. A source that fails is
   * logged and keeps its last snapshot.
   *
   * @throws {AgentError} `already_exists` when the name is taken: a source has one stream (R2)
   */
  addSource(name: PodSource, snapshots: Observable<SourceSnapshot>): void {
    if (this.#sources.has(name))
      throw new AgentError('already_exists', `pod source "${name}" was added before`);
    const subscription = snapshots.subscribe({
      next: (snapshot) => {
        this.#merge(snapshot);
      },
      error: (err: unknown) => {
        this.#deps.logger.error('pod source ended', { source: name, err });
      },
    });
    this.#sources.set(name, subscription);
  }

  /** True once every source is in `seen` (its updates were handled) and has delivered a snapshot (R15). */
  seenAllSources(seen: ReadonlySet<string>): boolean {
    return [...this.#sources.keys()].every((name) => seen.has(name) && this.#memories.has(name));
  }

  /** Ends all sources and the stream of updates. */
  stop(): void {
    for (const subscription of this.#sources.values()) subscription.unsubscribe();
    this.#updates.complete();
  }

  #merge(snapshot: SourceSnapshot): void {
    const now = this.#deps.clock.now();
    const { source } = snapshot;
    const { memory, updates, duplicates, accepted } = mergeSnapshot(
      this.#memories.get(source),
      snapshot,
      now,
    );
    this.#memories.set(source, memory);
    for (const pod of duplicates) this.#reportDuplicate(pod, source);
    if (source === 'api') for (const pod of accepted) this.#deps.observedOnWatch?.(pod, now);
    for (const update of updates) this.#emit(update);
  }

  #emit(update: PodUpdate): void {
    if (this.#updates.observed) this.#updates.next(update);
    else this.#buffered.push(update);
  }

  #reportDuplicate(pod: Pod, source: PodSource): void {
    const name = nameOf(pod);
    const message = `Error validating pod ${fullNameOf(pod)}(${uidOf(pod)}) from ${source} due to duplicate pod name ${goQuote(name)}, ignoring`;
    this.#deps.recorder.event(pod, 'Warning', 'FailedValidation', message);
    this.#deps.logger.warn('pod dropped: another one of its source has the same name', {
      pod: fullNameOf(pod),
      uid: uidOf(pod),
      source,
    });
  }
}

/** SourcesReady tracks the pod sources that were handled. Nothing is deleted before all were. */
export interface SourcesReady {
  /** Records that an update of `source` was handled; call it after that, not before. */
  addSource(source: string): void;
  /** True once each source has delivered its first pods and they were handled; it never turns false again. */
  allReady(): boolean;
}

/**
 * SeenSources records which sources the sync loop has handled. Until all of them were, nothing may be deleted (R15, R16, R60, R75).
 * Kubelet's `SourcesReady`.
 */
class SeenSources implements SourcesReady {
  readonly #seen = new Set<string>();
  readonly #config: Pick<PodConfig, 'seenAllSources'>;

  constructor(config: Pick<PodConfig, 'seenAllSources'>) {
    this.#config = config;
  }

  /** Call after an update of `source` was handled, not before. */
  addSource(source: string): void {
    this.#seen.add(source);
  }

  allReady(): boolean {
    return this.#config.seenAllSources(this.#seen);
  }
}

/** Creates a {@link SourcesReady:interface} for the sources of a `PodConfig`. */
export const SourcesReady: new (config: Pick<PodConfig, 'seenAllSources'>) => SourcesReady = SeenSources;
