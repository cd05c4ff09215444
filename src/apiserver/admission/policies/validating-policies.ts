import type { JsonObject } from '../../../apimachinery/json.ts';
import { forbidden, StatusError } from '../../../apimachinery/status-error.ts';
import { Budget, OutOfBudget } from '../../cel/admission/expressions.ts';
import type { AdmissionInput } from '../../cel/admission/variables.ts';
import type { Activation } from '../../cel/eval/frame.ts';
import { admittedName } from '../../storage/names.ts';
import type { AdmissionMetrics, PolicyAction, PolicyFault } from '../admission-metrics.ts';
import type { AdmissionPlugin, Attributes } from '../plugin.ts';
import { isReviewed } from '../webhooks/validating-webhooks.ts';
import {
  inputOf,
  type Invocations,
  invocationsOf,
  reviewedBy,
  type ReviewedKinds,
  type PolicyDeps,
  type PolicyFailure,
  type PolicyInvocation,
} from './invocations.ts';
import { type Validation, type ValidatingPolicy, validatingPoliciesIn } from './policy.ts';

/** What the expressions of one policy may cost together. */
export const policyBudget = 10_000_000;
const longestMessage = 5 * 1024;
const longestAnnotation = 10 * 1024;

/** Why a validation refuses a request. */
interface Denial {
  readonly message: string;
  readonly reason: string;
  readonly index: number;
  /** Whether the expression could not be evaluated. */
  readonly isFault?: true;
}

interface Findings {
  readonly denials: readonly Denial[];
  /** Audit annotations that could not be evaluated; they refuse the request whatever the binding's actions are. */
  readonly broken: readonly string[];
  readonly annotations: readonly (readonly [key: string, value: string])[];
}

const nothing: Findings = { denials: [], broken: [], annotations: [] };

/** Evaluates a policy for a request. */
function evaluate(policy: ValidatingPolicy, input: AdmissionInput): Findings {
  let budget = new Budget(policyBudget);
  const variables = policy.composition.activation(input, () => budget);
  const failed = (message: string): Findings =>
    policy.ignoresFailures ? nothing : { ...nothing, denials: [{ message, reason: 'Invalid', index: 0 }] };
  try {
    const match = policy.conditions.evaluateWith(variables);
    if (match.matches === false) return nothing;
    if (match.matches === undefined) return failed(match.error);
    const evaluation = { budget, variables };
    const denials = policy.validations.flatMap(
      (one, index) => denialOf(one, index, policy, evaluation) ?? [],
    );
    budget = new Budget(policyBudget);
    return { denials, ...annotationsOf(policy, { budget, variables }) };
  } catch (reason) {
    if (reason instanceof OutOfBudget) return failed(reason.message);
    throw reason;
  }
}

interface Evaluation {
  readonly budget: Budget;
  readonly variables: Activation;
}

function denialOf(
  validation: Validation,
  index: number,
  { ignoresFailures }: ValidatingPolicy,
  evaluation: Evaluation,
): Denial | undefined {
  const { budget, variables } = evaluation;
  const { value, error } = budget.evaluate(validation.compiled, variables);
  if (error !== undefined)
    return ignoresFailures ? undefined : { message: error, reason: 'Invalid', index, isFault: true };
  if (value === true) return undefined;
  return { message: messageOf(validation, evaluation), reason: validation.reason, index };
}

function messageOf(
  { messageExpression, message, expression }: Validation,
  { budget, variables }: Evaluation,
): string {
  const evaluated = messageExpression && budget.evaluate(messageExpression, variables).value;
  const text = typeof evaluated === 'string' ? evaluated.trim() : '';
  const isUsable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= longestMessage;
  return isUsable ? text : message || `failed expression: ${expression.trim()}`;
}

function annotationsOf(
  { annotations, ignoresFailures }: ValidatingPolicy,
  { budget, variables }: Evaluation,
): Pick<Findings, 'annotations' | 'broken'> {
  const entries: (readonly [string, string])[] = [];
  const broken: string[] = [];
  for (const { key, compiled } of annotations) {
    const { value, error } = budget.evaluate(compiled, variables);
    if (error !== undefined) {
      if (!ignoresFailures) broken.push(error);
    } else if (typeof value === 'string' && value.trim() !== '')
      entries.push([key, value.trim().slice(0, longestAnnotation)]);
  }
  return { annotations: entries, broken };
}

/** A refusal by one policy. */
interface Refused {
  readonly policy: ValidatingPolicy;
  readonly binding?: string | undefined;
  readonly message: string;
  readonly reason: string;
}

const codes: ReadonlyMap<string, number> = new Map([
  ['Forbidden', 403],
  ['Unauthorized', 401],
  ['RequestEntityTooLarge', 413],
]);

/** Returns the error of the first refusal. */
function errorOf(
  { kind, name, object }: Attributes,
  { policy, binding, message, reason }: Refused,
): StatusError {
  const by = `ValidatingAdmissionPolicy '${policy.name}'${binding === undefined ? '' : ` with binding '${binding}'`}`;
  const text = `${by} denied request: ${message}`;
  const { group, resource } = kind;
  const subject = { kind: resource, name: name || admittedName(object), ...(group !== '' && { group }) };
  const plain = forbidden(subject, text);
  return new StatusError(codes.get(reason) ?? 422, reason, plain.message, {
    details: { ...(plain.body['details'] as JsonObject), causes: [{ message: text }] },
  });
}

/** Reports what one invocation found, by the actions of its binding. */
function report(
  attributes: Attributes,
  { policy, binding }: PolicyInvocation<ValidatingPolicy>,
  { denials, broken }: Findings,
): Refused[] {
  const { context } = attributes;
  const refused: Refused[] = [];
  for (const { message, reason, index } of denials)
    for (const action of binding.actions)
      if (action === 'Deny') refused.push({ policy, binding: binding.name, message, reason });
      else if (action === 'Warn')
        context.warnings.push(
          `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
        );
      else if (action === 'Audit')
        context.annotate?.(
          'validation.policy.admission.k8s.io/validation_failure',
          JSON.stringify([
            {
              message,
              policy: policy.name,
              binding: binding.name,
              expressionIndex: index,
              validationActions: binding.actions,
            },
          ]),
        );
  for (const message of broken) refused.push({ policy, binding: binding.name, message, reason: 'Invalid' });
  return refused;
}

/** Counts what one invocation came to: allowed, or each action on a failed expression. */
function measure(
  { policy, binding }: PolicyInvocation<ValidatingPolicy>,
  { denials, broken }: Findings,
  since: number,
  metrics: AdmissionMetrics,
): void {
  const count = (fault: PolicyFault, action: PolicyAction): void => {
    metrics.checked('validating', { policy: policy.name, binding: binding.name, fault, action, since });
  };
  if (denials.length === 0 && broken.length === 0) count('no_error', 'allow');
  for (const _text of broken) count('invalid_error', 'deny');
  for (const { isFault } of denials)
    for (const action of binding.actions) {
      const named = actions.get(action);
      if (named) count(isFault ? 'invalid_error' : 'no_error', named);
    }
}

const actions: ReadonlyMap<string, PolicyAction> = new Map([
  ['Deny', 'deny'],
  ['Warn', 'warn'],
  ['Audit', 'audit'],
]);

const failuresOf = (failures: readonly PolicyFailure<ValidatingPolicy>[]): Refused[] =>
  failures.flatMap(({ policy, binding, message }) =>
    policy.ignoresFailures ? [] : [{ policy, binding: binding?.name, message, reason: 'Invalid' }],
  );

/** Publishes the audit annotations of a policy: the values of all its bindings, each once. */
function publish({ context }: Attributes, found: ReadonlyMap<string, ReadonlySet<string>>): void {
  for (const [key, values] of found) context.annotate?.(key, [...values].join(', '));
}

function judge(
  attributes: Attributes,
  { invocations, failures }: Invocations<ValidatingPolicy>,
  reviewed: ReviewedKinds,
  deps: PolicyDeps,
): void {
  const refused = failuresOf(failures);
  const annotations = new Map<string, Set<string>>();
  for (const invocation of invocations) {
    const input = inputOf(attributes, invocation, reviewed.get(invocation.kind) ?? {}, deps);
    const since = deps.metrics.now();
    const found = evaluate(invocation.policy, input);
    measure(invocation, found, since, deps.metrics);
    refused.push(...report(attributes, invocation, found));
    for (const [key, value] of found.annotations) {
      const full = `${invocation.policy.name}/${key}`;
      annotations.set(full, (annotations.get(full) ?? new Set()).add(value));
    }
  }
  publish(attributes, annotations);
  const [first] = refused;
  if (first) throw errorOf(attributes, first);
}

function review(
  attributes: Attributes,
  found: Invocations<ValidatingPolicy>,
  deps: PolicyDeps,
): Promise<void> | undefined {
  const reviewed = reviewedBy(attributes, found.invocations, deps.objects);
  if (reviewed instanceof Promise)
    return reviewed.then((objects) => {
      judge(attributes, found, objects, deps);
    });
  judge(attributes, found, reviewed, deps);
  return undefined;
}

/** ValidatingAdmissionPolicy evaluates the expressions of ValidatingAdmissionPolicies for the object as it will be stored. */
export const validatingPolicies = (deps: PolicyDeps): AdmissionPlugin => ({
  name: 'ValidatingAdmissionPolicy',
  handles: (_operation, kind) => isReviewed(kind),
  validate(attributes) {
    const policies = validatingPoliciesIn(attributes.context.world.store);
    if (policies.length === 0) return undefined;
    const found = invocationsOf(policies, attributes, deps);
    return found instanceof Promise
      ? found.then((invocations) => review(attributes, invocations, deps))
      : review(attributes, found, deps);
  },
});
