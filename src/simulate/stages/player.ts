import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { type ApiClient, isNotFound } from '../../api/client.ts';
import type { Resource } from '../../api/resources.ts';
import { compareVersions } from '../../api/versions.ts';
import { strategicPatch } from '../../apimachinery/patch/strategic-patch.ts';
import { jsonPatch, mergePatch } from '../../apimachinery/patch/patch.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { isAborted } from '../../base/abort.ts';
import type { Clock, StopTimer } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { KeyedRandom } from '../keyed-random.ts';
import type { Lanes } from '../lanes.ts';
import { type Choice, chooseStage, matches } from './selection.ts';
import type { Stage, StagePatch } from './stage.ts';
import type { TemplateContext } from '../../go/template/template.ts';

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
export interface PlayedKind<T extends KubeObject> {
  readonly resource: Resource;
  /** The type of the kind for strategic merge patches, as `Kind.type` of a built-in kind. */
  readonly type: string;
  functionsOf(object: T): TemplateContext;
  /** Corrects the object as a stage would leave it; `problem` is reported, and without `next` nothing is sent. */
  guard?(before: T, next: T): { readonly next?: T; readonly problem?: string };
  /** Whether the object's stages wait, for example because its node is cut off. */
  isHeld?(object: T): boolean;
  /** Called after a patch with the object as the API server returned it, and what was sent. */
  played?(object: T, sent: readonly JsonObject[]): void;
}

/** Dependencies of a StagePlayer. */
export interface StagePlayerDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly chance: KeyedRandom;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly lanes: Lanes;
  /** The stages in force, those of the first list that match before the second list. */
  readonly stages: () => readonly (readonly Stage[])[];
  readonly onPlayed?: (played: PlayedStage) => void;
  readonly signal: AbortSignal;
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

/** A patch that is being applied. */
interface Playing {
  readonly stage: Stage;
  readonly patch: StagePatch;
  /** The bodies that were sent for the stage. */
  readonly sent: JsonObject[];
}

const requestMs = 30_000;

/** How long a stage whose request failed waits, ms. */
const againMs = 1000;

/**
 * StagePlayer plays the stages of one kind of objects: it waits for the delay of the stage that matches, applies it, and goes on with the
 * next. An object has one stage at a time; a pending stage ends when the object no longer matches it.
 */
export class StagePlayer<T extends KubeObject> {
  readonly #deps: StagePlayerDeps;
  readonly #kind: PlayedKind<T>;
  readonly #actors = new Map<string, Actor<T>>();
  #played = 0;

  constructor(deps: StagePlayerDeps, kind: PlayedKind<T>) {
    this.#deps = deps;
    this.#kind = kind;
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
    const sent: JsonObject[] = [];
    const { after, refused } = await lanes.run(() => this.#apply(stage, before, sent));
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

  /** Applies a stage. @returns the object afterwards, the same when nothing was sent; and whether a patch was refused */
  async #apply(
    stage: Stage,
    object: T,
    sent: JsonObject[],
  ): Promise<{ readonly after: T; readonly refused: boolean }> {
    const { recorder } = this.#deps;
    const { next } = stage;
    let current = object;
    if (next.event) {
      const { type, reason, message } = next.event;
      recorder.event(this.#named(object), type, reason, message);
    }
    if (next.finalizers) current = await this.#setFinalizers(current, next.finalizers);
    if (next.delete) {
      await this.#delete(current);
      return { after: current, refused: false };
    }
    let refused = false;
    for (const patch of next.patches) {
      const patched = await this.#patch({ stage, patch, sent }, current);
      refused ||= patched === undefined;
      current = patched ?? current;
    }
    return { after: current, refused };
  }

  #named({ metadata }: T): KubeObject {
    const { kind, group, version } = this.#kind.resource;
    const apiVersion = group === '' ? version : `${group}/${version}`;
    return { kind, apiVersion, ...(metadata && { metadata }) };
  }

  #ref({ metadata }: T): { readonly name: string; readonly namespace?: string } {
    const { name = '', namespace } = metadata ?? {};
    return namespace === undefined || namespace === '' ? { name } : { name, namespace };
  }

  async #setFinalizers(
    object: T,
    { add, remove, empty }: NonNullable<Stage['next']['finalizers']>,
  ): Promise<T> {
    const before = object.metadata?.finalizers ?? [];
    const rest = empty ? [] : before.filter((one) => !remove.includes(one));
    const finalizers = [...rest, ...add.filter((one) => !rest.includes(one))];
    if (isDeepStrictEqual(before, finalizers)) return object;
    const { resourceVersion } = object.metadata ?? {};
    const body = { metadata: { finalizers, ...(resourceVersion !== undefined && { resourceVersion }) } };
    return this.#send(object, { type: 'merge', body });
  }

  async #delete(object: T): Promise<void> {
    const { client, signal } = this.#deps;
    const { uid } = object.metadata ?? {};
    await client.delete(this.#kind.resource, this.#ref(object), {
      ...{ signal, timeoutMs: requestMs, gracePeriodSeconds: 0, propagationPolicy: 'Background' as const },
      ...(uid !== undefined && { preconditions: { uid } }),
    });
  }

  /** @returns the object afterwards; `undefined` when the patch was refused */
  async #patch({ stage, patch, sent: all }: Playing, object: T): Promise<T | undefined> {
    const { recorder, logger } = this.#deps;
    const rendered: unknown = parse(patch.template(object, this.#kind.functionsOf(object)));
    if (rendered === null || rendered === undefined) return object;
    const body = (patch.root === undefined ? rendered : { [patch.root]: rendered }) as JsonObject;
    const outcome = this.#outcome(object, patch, body);
    const { next, problem } = this.#kind.guard?.(object, outcome) ?? { next: outcome };
    if (problem !== undefined) {
      recorder.event(this.#named(object), 'Warning', 'StageCorrected', `stage ${stage.name}: ${problem}`);
      logger.warn('a stage was corrected', { stage: stage.name, object: nameOf(object), problem });
    }
    if (!next) return undefined;
    if (isDeepStrictEqual(next, object)) return object;
    const isCorrected = next !== outcome;
    const sent = isCorrected
      ? { type: 'merge' as const, body: { status: statusOf(next) } }
      : { type: patch.type, body };
    all.push(sent.body);
    return this.#send(object, sent, patch.subresource);
  }

  /** Returns the object as the patch leaves it. */
  #outcome(object: T, { type }: StagePatch, body: JsonObject): T {
    const target = object as unknown as JsonObject;
    switch (type) {
      case 'strategic':
        return strategicPatch(target, body, this.#kind.type) as unknown as T;
      case 'merge':
        return mergePatch(target, body) as T;
      case 'json':
        return jsonPatch(target, body as unknown as readonly unknown[]) as T;
    }
  }

  #send(
    object: T,
    patch: { readonly type: StagePatch['type']; readonly body: object },
    subresource?: string,
  ): Promise<T> {
    const { client, signal } = this.#deps;
    return client.patch<T>(this.#kind.resource, this.#ref(object), patch, {
      ...{ signal, timeoutMs: requestMs },
      ...(subresource !== undefined && subresource !== '' && { subresource }),
    });
  }
}

/** Whether the object changed while its stage was played. */
const wasChanged = ({ isStale }: { readonly isStale: boolean }): boolean => isStale;

const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status;

function nameOf({ metadata }: KubeObject): string {
  const { namespace = '', name = '' } = metadata ?? {};
  return namespace === '' ? name : `${namespace}/${name}`;
}

const isNewer = ({ metadata: one }: KubeObject, { metadata: other }: KubeObject): boolean =>
  (compareVersions(one?.resourceVersion ?? '', other?.resourceVersion ?? '') ?? 1) > 0;
