import type { Template } from '../../go/template/template.ts';
import type { KubeObject } from '../../kube/types.ts';
import { type ExpressionDeps, Expressions } from '../expressions/expressions.ts';
import { ObjectReader, type Raw } from './object-reader.ts';
import { celRequirement, jqRequirement, type Requirement, requirementOperators } from './requirement.ts';
import { durationFrom, fixed, type StageNumber, weightFrom } from './stage-number.ts';

/** The group and version of kwok's objects. */
export const kwokVersion = 'kwok.x-k8s.io/v1alpha1';

/** A patch of a stage. */
export interface StagePatch {
  readonly type: 'json' | 'merge' | 'strategic';
  readonly subresource?: string;
  /** The member of the object that the template describes, for example `status`. */
  readonly root?: string;
  readonly template: Template;
  /** The user who patches; absent: that of the simulation. */
  readonly username?: string;
}

/** An object that a stage creates, or changes where it exists. */
export interface StageApply {
  readonly type: 'apply' | 'merge' | 'strategic';
  /** A subresource of an existing object, such as `status`. */
  readonly subresource?: string;
  readonly template: Template;
  readonly username?: string;
}

/** An Event of a stage. */
export interface StageEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A change of the object's finalizers. */
export interface StageFinalizers {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly empty: boolean;
}

/** One thing that a stage does. */
export type StageStep =
  | { readonly event: StageEvent }
  | { readonly finalizers: StageFinalizers }
  | { readonly patch: StagePatch }
  | { readonly apply: StageApply }
  | { readonly delete: true };

/** A stage of kwok: which objects it is for, when it comes, and what it does. */
export interface Stage {
  readonly name: string;
  /** The version of the objects: `v1`, or a group and version. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchAnnotations: Readonly<Record<string, string>>;
  readonly requirements: readonly Requirement[];
  /** The chance among the stages that match; undefined where others decide. */
  readonly weight: StageNumber;
  /** ms */
  readonly delay: StageNumber;
  /** ms: the delay is chosen between both */
  readonly jitter: StageNumber;
  readonly steps: readonly StageStep[];
  readonly immediateNextStage: boolean;
}

/** Whether the object is one that kubelets change: those of other kinds have no strategic merge patches by default. */
export const isNodeOrPod = ({ apiVersion, kind }: Pick<Stage, 'apiVersion' | 'kind'>): boolean =>
  apiVersion === 'v1' && (kind === 'Pod' || kind === 'Node');

/** Returns the expressions of stages: their variable `self` is the object. */
export const stageExpressions = (deps: Pick<ExpressionDeps, 'now' | 'random'>): Expressions =>
  new Expressions(deps, ['self']);

/**
 * Decodes a Stage object (`kwok.x-k8s.io/v1alpha1`).
 *
 * @throws {AgentError} `invalid_argument` naming the stage, the field and what would be right
 */
export function stageOf(object: Raw, expressions: Expressions): Stage {
  const { name = '' } = (object as KubeObject).metadata ?? {};
  const reader = new ObjectReader(object, `Stage ${JSON.stringify(name)}`);
  const spec = reader.object('spec');
  const selector = spec.object('selector');
  const delay = spec.object('delay');
  const ref = spec.object('resourceRef');
  const kind = { apiVersion: ref.text('apiGroup') ?? 'v1', kind: ref.required('kind') };
  return {
    ...{ name, ...kind },
    matchLabels: selector.map('matchLabels'),
    matchAnnotations: selector.map('matchAnnotations'),
    requirements: selector.objects('matchExpressions').map((one) => requirementOf(one, expressions)),
    weight: weightOf(spec, expressions),
    delay: durationOf(delay, 'duration', expressions),
    jitter: durationOf(delay, 'jitterDuration', expressions),
    steps: new StepDecoder(isNodeOrPod(kind) ? 'strategic' : 'merge').stepsOf(spec),
    immediateNextStage: spec.flag('immediateNextStage'),
  };
}

function requirementOf(reader: ObjectReader, expressions: Expressions): Requirement {
  const cel = reader
    .object('cel')
    .decoded('expression', (text) => celRequirement(text, expressions.compile(text)));
  if (cel) return cel;
  const nested = reader.object('jq');
  const from = nested.isEmpty ? reader : nested;
  return jqRequirement({
    key: from.required('key'),
    filter: from.expression('key') ?? (() => []),
    operator: from.choice('operator', requirementOperators),
    values: from.texts('values'),
  });
}

interface Source {
  readonly jq: ReturnType<ObjectReader['expression']>;
  readonly cel: ReturnType<Expressions['compile']> | undefined;
}

/** Decodes an expression in one of its forms: of CEL, of jq, or the older `expressionFrom` of jq. */
function sourceOf(reader: ObjectReader, expressions: Expressions): Source {
  const cel = reader.object('cel').decoded('expression', (text) => expressions.compile(text));
  const jq = reader.object('jq').expression('expression') ?? reader.expression('expressionFrom');
  return { cel, jq };
}

function weightOf(spec: ObjectReader, expressions: Expressions): StageNumber {
  const weight = spec.number('weight') ?? 0;
  const { cel, jq } = sourceOf(spec.object('weightFrom'), expressions);
  if (cel) return (self) => cel.number({ self });
  return jq ? weightFrom(jq, weight) : fixed(weight);
}

function durationOf(delay: ObjectReader, name: string, expressions: Expressions): StageNumber {
  const ms = delay.number(`${name}Milliseconds`);
  const { cel, jq } = sourceOf(delay.object(`${name}From`), expressions);
  if (cel) return (self) => cel.durationMs({ self }) ?? ms;
  return jq ? durationFrom(jq, ms) : fixed(ms);
}

/** StepDecoder decodes what a stage does: `steps`, or the older `next`. */
class StepDecoder {
  readonly #patchType: StagePatch['type'];

  /** @param patchType the type of patches that name none */
  constructor(patchType: StagePatch['type']) {
    this.#patchType = patchType;
  }

  stepsOf(spec: ObjectReader): readonly StageStep[] {
    const steps = spec.objects('steps').flatMap((step) => this.#stepOf(step));
    return [...this.#nextOf(spec.object('next')), ...steps];
  }

  #nextOf(next: ObjectReader): readonly StageStep[] {
    const subresource = next.text('statusSubresource') ?? 'status';
    const status = next.template('statusTemplate');
    const statusStep: readonly StageStep[] = status
      ? [
          {
            patch: {
              ...{ type: this.#patchType, subresource, root: 'status', template: status },
              ...usernameOf(next, 'statusPatchAs'),
            },
          },
        ]
      : [];
    const patches = next.objects('patches').map((patch) => ({ patch: this.#patchOf(patch) }));
    return [...commonSteps(next), ...statusStep, ...patches];
  }

  #stepOf(step: ObjectReader): readonly StageStep[] {
    const [patch, apply] = [step.object('patch'), step.object('apply')];
    return [
      ...commonSteps(step),
      ...(patch.isEmpty ? [] : [{ patch: this.#patchOf(patch) }]),
      ...(apply.isEmpty ? [] : [{ apply: applyOf(apply) }]),
    ];
  }

  #patchOf(patch: ObjectReader): StagePatch {
    const root = patch.text('root');
    return {
      type: patch.choice('type', ['json', 'merge', 'strategic'], this.#patchType),
      ...(root !== undefined && { root }),
      ...templateOf(patch),
    };
  }
}

const applyOf = (apply: ObjectReader): StageApply => ({
  type: apply.choice('type', ['apply', 'merge', 'strategic'], 'apply'),
  ...templateOf(apply),
});

function templateOf(reader: ObjectReader): Pick<StagePatch, 'subresource' | 'template' | 'username'> {
  const subresource = reader.text('subresource');
  const template = reader.template('template');
  if (!template) throw reader.fault('template', 'is required');
  return {
    ...(subresource !== undefined && { subresource }),
    template,
    ...usernameOf(reader, 'impersonation'),
  };
}

function usernameOf(reader: ObjectReader, key: string): { readonly username?: string } {
  const impersonation = reader.object(key);
  return impersonation.isEmpty ? {} : { username: impersonation.required('username') };
}

/** Decodes what `next` and a step have in common, in the order in which it is done. */
function commonSteps(reader: ObjectReader): readonly StageStep[] {
  const event = reader.object('event');
  const finalizers = reader.object('finalizers');
  const values = (key: string): readonly string[] =>
    finalizers.objects(key).map((one) => one.required('value'));
  return [
    ...(event.isEmpty ? [] : [{ event: eventOf(event) }]),
    ...(finalizers.isEmpty
      ? []
      : [{ finalizers: { add: values('add'), remove: values('remove'), empty: finalizers.flag('empty') } }]),
    ...(reader.flag('delete') ? [{ delete: true as const }] : []),
  ];
}

const eventOf = (event: ObjectReader): StageEvent => ({
  type: event.choice('type', ['Normal', 'Warning'], 'Normal'),
  reason: event.text('reason') ?? '',
  message: event.text('message') ?? '',
});
