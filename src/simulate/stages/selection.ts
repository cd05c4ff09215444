import { parseDuration } from '../../kube/duration.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { KeyedRandom } from '../keyed-random.ts';
import type { Requirement, Stage, StageNumber } from './stage.ts';

/** Whether each wanted label or annotation is there with its value. */
function hasAll(
  required: Readonly<Record<string, string>>,
  existing: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(required).every(([key, value]) => existing[key] === value);
}

/** Whether a requirement holds. Outputs that are null count as absent, as a path that is not there has the output null. */
function holds({ filter, operator, values }: Requirement, object: KubeObject): boolean {
  const outputs = filter(object).filter((value) => value !== null && value !== undefined);
  const isIn = outputs.some((value) =>
    values.includes(typeof value === 'string' ? value : JSON.stringify(value)),
  );
  switch (operator) {
    case 'In':
      return isIn;
    case 'NotIn':
      return !isIn;
    case 'Exists':
      return outputs.length > 0;
    case 'DoesNotExist':
      return outputs.length === 0;
  }
}

/** Whether a stage is for the object as it is now. */
export const matches = (stage: Stage, object: KubeObject): boolean =>
  isFor(stage, object) && stage.requirements.every((requirement) => holds(requirement, object));

/** A path below metadata or spec that does not change while the object lives. */
const lasting = /^\.(?:spec\b|metadata\.(?:labels|annotations|ownerReferences|name|namespace)\b)/;

/** Whether a stage may come for the object at some time: what its status and its deletion decide is left out. */
export const mayMatch = (stage: Stage, object: KubeObject): boolean =>
  isFor(stage, object) &&
  stage.requirements.every((requirement) => !lasting.test(requirement.key) || holds(requirement, object));

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
 * likely as the others.
 */
export function chooseStage(
  stages: readonly Stage[],
  object: KubeObject,
  { chance, key, now }: ChoiceDeps,
): Choice | undefined {
  const candidates = stages.filter((stage) => matches(stage, object));
  const weights = candidates.map(({ weight }) => Math.max(0, numberOf(weight, object) ?? 0));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const likely = total > 0 ? weights : weights.map(() => 1);
  let left = chance.float('stage', key) * likely.reduce((sum, weight) => sum + weight, 0);
  const stage = candidates.find((_, at) => (left -= likely[at] ?? 0) < 0);
  return stage && { stage, delayMs: delayOf(stage, object, { chance, key, now }) };
}

function delayOf({ delay, jitter }: Stage, object: KubeObject, { chance, key, now }: ChoiceDeps): number {
  const from = durationOf(delay, object, now) ?? 0;
  const to = durationOf(jitter, object, now);
  if (to === undefined) return from;
  return to <= from ? to : from + chance.float('delay', key) * (to - from);
}

function outputOf({ from }: StageNumber, object: KubeObject): unknown {
  return from?.(object).find((value) => value !== null && value !== undefined);
}

function numberOf(number: StageNumber, object: KubeObject): number | undefined {
  const value = Number(outputOf(number, object) ?? number.fixed);
  return Number.isFinite(value) ? value : undefined;
}

/** Returns a time span, ms: an expression has a duration such as `5s`, or the time until which to wait. */
function durationOf(number: StageNumber, object: KubeObject, now: number): number | undefined {
  const value = outputOf(number, object);
  if (typeof value !== 'string') return number.fixed;
  const nanos = parseDuration(value);
  if (typeof nanos === 'bigint') return Math.max(0, Number(nanos / 1_000_000n));
  const at = Date.parse(value);
  return Number.isNaN(at) ? number.fixed : Math.max(0, at - now);
}
