import { policyExpressionFaults } from '../../cel/admission/policy-faults.ts';
import {
  duplicate,
  type Faults,
  invalid,
  invalidEach,
  oneOf,
  required,
} from '../../../kube/validation/field-error.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import {
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { conditionsFaults } from '../validation/condition-rules.ts';
import { bindingFaults, policyFaults, withMatchDefaults } from './policy-rules.ts';

const group = 'admissionregistration.k8s.io';
const most = { annotations: 20, expression: 5 * 1024 } as const;
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const isBlank = (text: string): boolean => text.trim() === '';

function* validationFaults(field: string, validation: JsonObject): Faults {
  const [message, messageExpression] = [
    stringAt(validation, 'message'),
    stringAt(validation, 'messageExpression'),
  ];
  if (isBlank(stringAt(validation, 'expression')))
    yield required(`${field}.expression`, 'expression is not specified');
  if (messageExpression !== '' && isBlank(messageExpression))
    yield invalid(`${field}.messageExpression`, messageExpression, 'must be non-empty if specified');
  if (message !== '' && isBlank(message))
    yield invalid(`${field}.message`, message, 'must be non-empty if specified');
  else if (/[\r\n]/.test(message.trim()))
    yield invalid(`${field}.message`, message, 'must not contain line breaks');
  const { reason } = validation;
  if (reason !== undefined) yield* oneOf(`${field}.reason`, textOf(reason), reasons);
}

function* annotationFaults(field: string, policy: JsonObject): Faults {
  const annotations = objectsAt(specOf(policy), 'auditAnnotations');
  if (annotations.length > most.annotations)
    yield invalid(
      field,
      annotations.map((one) => ({ Key: one['key'], ValueExpression: one['valueExpression'] })),
      `must not have more than ${most.annotations} auditAnnotations`,
    );
  const keys = annotations.map((one) => stringAt(one, 'key'));
  for (const [i, key] of keys.entries()) {
    const expression = stringAt(annotations[i], 'valueExpression').trim();
    const name = `${nameOf(policy)}/${key}`;
    yield* invalidEach(`${field}[${i}].key`, name, qualifiedNameRule(name));
    const at = `${field}[${i}].valueExpression`;
    if (expression === '') yield required(at, 'valueExpression is not specified');
    else if (Buffer.byteLength(expression) > most.expression)
      yield required(at, `must not exceed ${most.expression} bytes in length`);
    if (keys.indexOf(key) < i) yield duplicate(`${field}[${i}].key`, key);
  }
}

const nothing = 'validations or auditAnnotations must contain at least one item';

/** Validates a policy. */
function* faults(policy: JsonObject): Faults {
  yield* policyFaults(policy, false);
  const validations = objectsAt(specOf(policy), 'validations');
  if (validations.length === 0 && objectsAt(specOf(policy), 'auditAnnotations').length === 0) {
    yield required('spec.validations', nothing);
    yield required('spec.auditAnnotations', nothing);
  }
  for (const [i, validation] of validations.entries())
    yield* validationFaults(`spec.validations[${i}]`, validation);
  yield* annotationFaults('spec.auditAnnotations', policy);
  yield* policyExpressionFaults(policy);
}

function* statusFaults(policy: JsonObject): Faults {
  const warnings = objectsAt(objectAt(statusOf(policy), 'typeChecking'), 'expressionWarnings');
  for (const [i, warning] of warnings.entries())
    for (const key of ['warning', 'fieldRef'])
      if (isBlank(stringAt(warning, key)))
        yield required(`status.typeChecking.expressionWarnings[${i}].${key}`);
  yield* conditionsFaults('status.conditions', objectsAt(statusOf(policy), 'conditions'));
}

/** Strategy of validating admission policies. */
export const validatingPolicyStrategy: Strategy = strategyOf(builtIn('validatingadmissionpolicies', group), {
  defaults: (policy) => withMatchDefaults(policy, 'matchConstraints', { failurePolicy: 'Fail' }),
  faults,
  metadataChecks: ['whole'],
  status: { faults: statusFaults, frozenMetadata: 'all' },
});

const actions = ['Audit', 'Deny', 'Warn'];

function* actionFaults(field: string, list: readonly string[]): Faults {
  for (const [i, action] of list.entries()) {
    yield* oneOf(`${field}[${i}]`, action, actions);
    if (list.indexOf(action) < i) yield duplicate(`${field}[${i}]`, action);
  }
  if (list.includes('Deny') && list.includes('Warn'))
    yield invalid(
      field,
      list,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
  if (list.length === 0) yield required(field, 'at least one validation action is required');
}

/** Strategy of bindings of validating admission policies. */
export const validatingBindingStrategy: Strategy = strategyOf(
  builtIn('validatingadmissionpolicybindings', group),
  {
    defaults: (binding) => withMatchDefaults(binding, 'matchResources'),
    *faults(binding) {
      yield* bindingFaults(binding, false);
      yield* actionFaults('spec.validationActions', listAt(specOf(binding), 'validationActions').map(textOf));
    },
    metadataChecks: ['whole'],
    counted: specOf,
  },
);
