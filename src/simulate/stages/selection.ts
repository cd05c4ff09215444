import type { KubeObject } from '../../kube/types.ts';
import type { KeyedRandom } from '../keyed-random.ts';
import type { Stage } from './stage.ts';

/** Whether each wanted label or annotation is there with its value. */
function hasAll(
  required: Readonly<Record<string, string>>,
  existing: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(required).every(([key, value]) => existing[key] === value);
}

/** Whether a stage is for the object as it is now. */
export const matches = (stage: Stage, object: KubeObject): boolean =>
  isFor(stage, object) && stage.requirements.every((requirement) => requirement.holds(object));

/** Whether a stage may come for the object at some time: what its status and its deletion decide is left out. */
export const mayMatch = (stage: Stage, object: KubeObject): boolean =>
  isFor(stage, object) &&
  stage.requirements.every((requirement) => !requirement.isLasting || requirement.holds(object));

const isFor = ({ matchLabels, matchAnnotations }: Stage, { metadata }: KubeObject): boolean =>
  hasAll(matchLabels, metadata?.labels) && hasAll(matchAnnotations, metadata?.annotations);

/** A stage with its delay, as chosen for an object. */
export interface Choice {
  readonly stage: Stage;
  readonly delayMs: number;
}

/** What a choice is made with. */
export interface ChoiceDeps {
  readonly chance: KeyedRandom;
  /** Identifies the choice: the object, and how many stages it has had. */
  readonly key: string;
  /** ms since the epoch */
  readonly now: number;
}

/**
 * Chooses the next stage of an object among those that match. With weights, chance decides in their proportion; when all are 0, each is as
 * likely as the others. A stage without a weight comes only where none of them has one.
 */
export function chooseStage(
  stages: readonly Stage[],
  object: KubeObject,
  { chance, key, now }: ChoiceDeps,
): Choice | undefined {
  const candidates = stages.filter((stage) => matches(stage, object));
  const likely = chancesOf(candidates.map(({ weight }) => weight(object, now)));
  const [only] = candidates;
  if (candidates.length === 1 && only)
    return { stage: only, delayMs: delayOf(only, object, { chance, key, now }) };
  let left = chance.float('stage', key) * likely.reduce((sum, weight) => sum + weight, 0);
  const stage = candidates.find((_, at) => (left -= likely[at] ?? 0) < 0);
  return stage && { stage, delayMs: delayOf(stage, object, { chance, key, now }) };
}

function chancesOf(weights: readonly (number | undefined)[]): readonly number[] {
  const amounts = weights.map((weight = 0) => Math.max(0, weight));
  if (amounts.some((amount) => amount > 0)) return amounts;
  const hasWeight = weights.some((weight) => weight !== undefined);
  return weights.map((weight) => Number(!hasWeight || weight !== undefined));
}

function delayOf({ delay, jitter }: Stage, object: KubeObject, { chance, key, now }: ChoiceDeps): number {
  const from = Math.max(0, delay(object, now) ?? 0);
  const to = jitter(object, now);
  if (to === undefined) return from;
  return to <= from ? Math.max(0, to) : from + chance.float('delay', key) * (to - from);
}
