import { isNotFound } from '../../api/client.ts';
import { compareVersions } from '../../api/versions.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { isAborted } from '../../base/abort.ts';
import type { Clock, StopTimer } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { KeyedRandom } from '../keyed-random.ts';
import type { Lanes } from '../lanes.ts';
import { type Choice, chooseStage, matches } from './selection.ts';
import type { Stage } from './stage.ts';
import { nameOf, StageWriter, type StageWriterDeps, type WrittenKind } from './stage-writer.ts';

/** A stage that was played. */
export interface PlayedStage {
  /** ms since the epoch */
  readonly at: number;
  readonly kind: string;
  /** `namespace/name`, or the name alone. */
  readonly object: string;
  readonly stage: string;
  /** The delay that was chosen for it, ms. */
  readonly delayMs: number;
}

/** The kind of objects that a player plays, and what is particular to it. */
export interface PlayedKind<T extends KubeObject> extends WrittenKind<T> {
  /** Whether the object's stages wait, for example because its node is cut off. */
  isHeld?(object: T): boolean;
  /** Called after a patch with the object as the API server returned it, and what was sent. */
  played?(object: T, sent: readonly JsonObject[]): void;
}

/** Dependencies of a StagePlayer. */
export interface StagePlayerDeps extends StageWriterDeps {
  readonly clock: Clock;
  readonly chance: KeyedRandom;
  readonly lanes: Lanes;
  /** The stages in force, those of the first list that match before the second list. */
  readonly stages: () => readonly (readonly Stage[])[];
  readonly onPlayed?: (played: PlayedStage) => void;
}

interface Actor<T> {
  /** The newest version of the object, from a watch or a response. */
  object: T;
  /** How many stages the object has had. */
  visits: number;
  pending?: { readonly stage: Stage; readonly stop: StopTimer };
  isBusy: boolean;
  /** Whether the object changed while a stage was played. */
  isStale: boolean;
}

/** How long a stage whose request failed waits, ms. */
const againMs = 1000;

/**
 * StagePlayer plays the stages of one kind of objects: it waits for the delay of the stage that matches, applies it, and goes on with the
 * next. An object has one stage at a time; a pending stage ends when the object no longer matches it.
 */
export class StagePlayer<T extends KubeObject> {
  readonly #deps: StagePlayerDeps;
  readonly #kind: PlayedKind<T>;
  readonly #writer: StageWriter<T>;
  readonly #actors = new Map<string, Actor<T>>();
  #played = 0;

  constructor(deps: StagePlayerDeps, kind: PlayedKind<T>) {
    this.#deps = deps;
    this.#kind = kind;
    this.#writer = new StageWriter(deps, kind);
  }

  /** The number of stages played. */
  get played(): number {
    return this.#played;
  }

  /** Takes the newest version of an object. */
  seen(object: T): void {
    const uid = object.metadata?.uid ?? '';
    const actor = this.#actors.get(uid);
    if (!actor) {
      const fresh: Actor<T> = { object, visits: 0, isBusy: false, isStale: false };
      this.#actors.set(uid, fresh);
      this.#plan(uid, fresh);
    } else if (isNewer(object, actor.object)) {
      actor.object = object;
      actor.isStale = true;
      this.#plan(uid, actor);
    }
  }

  /** Ends the stages of an object that is gone. */
  deleted(object: T): void {
    const uid = object.metadata?.uid ?? '';
    this.#actors.get(uid)?.pending?.stop();
    this.#actors.delete(uid);
  }

  /** Chooses the stages of all objects again, after the stages changed. */
  replan(): void {
    for (const [uid, actor] of this.#actors) this.#plan(uid, actor);
  }

  /** Ends all stages. */
  stop(): void {
    for (const { pending } of this.#actors.values()) pending?.stop();
    this.#actors.clear();
  }

  #plan(uid: string, actor: Actor<T>): void {
    const { stages, chance, clock } = this.#deps;
    if (actor.isBusy) return;
    const { pending, object } = actor;
    const lists = stages();
    if (pending && lists.some((list) => list.includes(pending.stage)) && matches(pending.stage, object))
      return;
    pending?.stop();
    delete actor.pending;
    const key = `${this.#kind.resource.kind}/${nameOf(object)}/${actor.visits}`;
    for (const list of lists) {
      const choice = chooseStage(list, object, { chance, key, now: clock.now() });
      if (!choice) continue;
      this.#schedule(uid, actor, choice.stage, choice.delayMs);
      return;
    }
  }

  #schedule(uid: string, actor: Actor<T>, stage: Stage, delayMs: number): void {
    const play = (): void => {
      void this.#play(uid, actor, { stage, delayMs });
    };
    if (delayMs <= 0) {
      actor.isBusy = true; // a change in this turn waits for the stage
      play();
    } else actor.pending = { stage, stop: this.#deps.clock.timer(delayMs, play) };
  }

  async #play(uid: string, actor: Actor<T>, choice: Choice): Promise<void> {
    const { clock, signal } = this.#deps;
    actor.isBusy = true;
    actor.isStale = false;
    delete actor.pending;
    let goOn: boolean;
    try {
      goOn = await this.#perform(actor, choice);
    } catch (reason) {
      if (isAborted(signal)) return;
      goOn = this.#mayRepeat(actor, choice.stage, reason);
      await clock.sleep(againMs, signal).catch(() => undefined);
    }
    actor.isBusy = false;
    const isCurrent = this.#actors.get(uid) === actor && !isAborted(signal);
    if (isCurrent && (goOn || wasChanged(actor))) this.#plan(uid, actor);
  }

  /** Plays a stage. @returns whether the next one may follow without a change of the object */
  async #perform(actor: Actor<T>, { stage, delayMs }: Choice): Promise<boolean> {
    const { lanes, clock, onPlayed } = this.#deps;
    const before = actor.object;
    if (this.#kind.isHeld?.(before))
      throw new AgentError('unavailable', 'its node cannot reach the API server');
    const { after, refused, sent } = await lanes.run(() => this.#writer.write(stage, before));
    actor.visits += 1;
    this.#played += 1;
    const { kind } = this.#kind.resource;
    onPlayed?.({ at: clock.now(), kind, object: nameOf(before), stage: stage.name, delayMs });
    if (isNewer(after, actor.object)) actor.object = after;
    if (after !== before) this.#kind.played?.(after, sent);
    // a stage without effect would come again at once, forever; one that was refused would be refused again
    return after !== before || (delayMs > 0 && !refused);
  }

  /** Logs why a stage failed. @returns whether it may be repeated: not when the object is gone */
  #mayRepeat({ object }: Actor<T>, { name }: Stage, reason: unknown): boolean {
    if (isNotFound(reason)) return false;
    const fields = { stage: name, object: nameOf(object), err: messageOf(reason) };
    this.#deps.logger.warn('a stage could not be played', fields);
    return true;
  }
}

/** Whether the object changed while its stage was played. */
const wasChanged = ({ isStale }: { readonly isStale: boolean }): boolean => isStale;

const isNewer = ({ metadata: one }: KubeObject, { metadata: other }: KubeObject): boolean =>
  (compareVersions(one?.resourceVersion ?? '', other?.resourceVersion ?? '') ?? 1) > 0;
