import { labelSelectorMatches } from '../../../kube/label-selector.ts';
import type { PodSpec } from '../../../kube/types.ts';
import { type Faults, invalid, required } from '../../../kube/validation/field-error.ts';
import { internalForm, internalPodSpec } from '../../../kube/validation/internal-spec.ts';
import { dns1123Label } from '../../../kube/validation/name-rules.ts';
import { labelSelector } from '../../../kube/validation/shared.ts';
import {
  isObject,
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  statusOf,
  stringAt,
  textOf,
  without,
} from '../../../apimachinery/json.ts';
import { ownMember, tableOf } from '../../../base/own.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { podNameWarnings, withEnabledTemplate } from '../core/pod-template-rules.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import {
  asSelector,
  isUsableSelector,
  selectorMatchesTemplate,
  shownSelector,
} from '../validation/selector-rules.ts';
import { goMap, immutable, numberAt } from '../validation/value-rules.ts';
import { jobSpecFaults, jobTemplateDefaults, jobWarnings } from './job-rules.ts';
import { jobStatusFaults } from './job-status.ts';

const templateOf = (job: JsonObject): JsonObject => objectAt(specOf(job), 'template');
const labelsOf = (object: JsonObject): JsonObject => objectAt(metadataOf(object), 'labels');

const endless = 2_147_483_647;

function defaults(job: JsonObject): JsonObject {
  const spec = specOf(job);
  const { completions, parallelism, backoffLimitPerIndex, podFailurePolicy } = spec;
  const labels = labelsOf(templateOf(job));
  const inherits = Object.keys(labels).length > 0 && Object.keys(labelsOf(job)).length === 0;
  return {
    ...job,
    ...(inherits && { metadata: { ...metadataOf(job), labels } }),
    spec: jobTemplateDefaults({
      ...(completions === undefined && parallelism === undefined && { completions: 1 }),
      parallelism: 1,
      backoffLimit: backoffLimitPerIndex === undefined ? 6 : endless,
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed',
      manualSelector: false,
      ...spec,
    }),
  };
}

const uidLabels = ['controller-uid', 'batch.kubernetes.io/controller-uid'] as const;
const nameLabels = ['job-name', 'batch.kubernetes.io/job-name'] as const;

/** Returns a job that selects its pods by its UID, unless it has a selector of its own. */
function withSelector(job: JsonObject): JsonObject {
  const spec = specOf(job);
  if (spec['manualSelector'] === true) return job;
  const uid = stringAt(metadataOf(job), 'uid');
  const template = templateOf(job);
  const own = [
    ...nameLabels.map((key) => [key, nameOf(job)] as const),
    ...uidLabels.map((key) => [key, uid] as const),
  ];
  const labels = { ...Object.fromEntries(own), ...labelsOf(template) };
  const selector = objectAt(spec, 'selector');
  const matchLabels = {
    'batch.kubernetes.io/controller-uid': uid,
    ...objectAt(selector, 'matchLabels'),
  };
  // a job without labels of its own has those of its template, the generated ones included
  const shared = labelsOf(job) === labelsOf(template) || Object.keys(labelsOf(job)).length === 0;
  return {
    ...job,
    ...(shared && { metadata: { ...metadataOf(job), labels } }),
    spec: {
      ...spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...metadataOf(template), labels } },
    },
  };
}

/** Returns the labels that the pods of a job must have; jobs of old versions lack those with a domain. */
function expectedLabels(job: JsonObject, old: JsonObject | undefined): JsonObject {
  const before = labelsOf(templateOf(old ?? {}));
  const isOld = old && ![uidLabels[1], nameLabels[1]].every((key) => Object.hasOwn(before, key));
  const uid = stringAt(metadataOf(job), 'uid');
  return {
    [uidLabels[0]]: uid,
    [nameLabels[0]]: nameOf(job),
    ...(!isOld && { [uidLabels[1]]: uid, [nameLabels[1]]: nameOf(job) }),
  };
}

/** Validates that generated labels and selector are those of the job. */
function* generatedSelector(job: JsonObject, old: JsonObject | undefined): Faults {
  const { manualSelector, selector } = specOf(job);
  if (manualSelector === true || selector === undefined) return;
  const expected = expectedLabels(job, old);
  const labels = labelsOf(templateOf(job));
  for (const [key, value] of Object.entries(expected)) {
    const field = `spec.template.metadata.labels[${key}]`;
    const why = `must be '${textOf(value)}'`;
    if (ownMember(labels, key) === undefined) yield required(field, why);
    else if (ownMember(labels, key) !== value) yield invalid(field, goMap(labels), why);
  }
  const map = expected as Readonly<Record<string, string>>;
  if (isUsableSelector(selector) && !labelSelectorMatches(asSelector(selector), map))
    yield invalid('spec.selector', shownSelector(selector), '`selector` not auto-generated');
}

function* specFaults(job: JsonObject): Faults {
  const { selector } = specOf(job);
  yield* jobSpecFaults('spec', specOf(job));
  if (selector === undefined) yield required('spec.selector');
  else yield* labelSelector('spec.selector', asSelector(selector));
  if (isUsableSelector(selector)) yield* selectorMatchesTemplate('spec.template', selector, templateOf(job));
}

/** Validates that the names of an indexed job's pods are valid. */
function* longestHostname(job: JsonObject): Faults {
  const completions = numberAt(specOf(job), 'completions', 0);
  if (specOf(job)['completionMode'] !== 'Indexed' || completions <= 0) return;
  const host = `${nameOf(job)}-${completions - 1}`;
  if (dns1123Label(host).length > 0)
    yield invalid(
      'metadata.name',
      nameOf(job),
      `will not able to create pod with invalid DNS label: ${host}`,
    );
}

/** Returns a template as messages print it. */
const shownTemplate = (template: JsonObject): unknown => ({
  ...metadataOf(template),
  Spec: internalPodSpec(specOf(template) as unknown as PodSpec),
});

function* completions(spec: JsonObject, before: JsonObject): Faults {
  const field = 'spec.completions';
  const { completions: now, parallelism } = spec;
  if (spec['completionMode'] !== 'Indexed') yield* immutable(field, now, before['completions']);
  else if (now !== undefined && now !== before['completions'] && now !== parallelism)
    yield invalid(field, now, 'can only be modified in tandem with spec.parallelism');
}

/** Returns a suspended job's old template with the scheduling directives of the new one, which may change. */
function withDirectives(old: JsonObject, template: JsonObject): JsonObject {
  const [before, spec] = [specOf(old), specOf(template)];
  const [oldAffinity, affinity] = [objectAt(before, 'affinity'), objectAt(spec, 'affinity')];
  const merged = { ...without(oldAffinity, 'nodeAffinity'), nodeAffinity: affinity['nodeAffinity'] };
  const none =
    merged.nodeAffinity === undefined && Object.keys(merged).length === 1 && !isObject(spec['affinity']);
  const { annotations, labels } = metadataOf(template);
  return {
    ...old,
    metadata: { ...metadataOf(old), annotations, labels },
    spec: {
      ...before,
      affinity: none ? undefined : merged,
      nodeSelector: spec['nodeSelector'],
      tolerations: spec['tolerations'],
      schedulingGates: spec['schedulingGates'],
    },
  };
}

/** Returns the old spec with the resources of the new one's containers of the same names. */
function withResources(before: JsonObject, spec: JsonObject): JsonObject {
  const lists = ['containers', 'initContainers'].flatMap((key) => {
    const [old, now] = [objectsAt(before, key), objectsAt(spec, key)];
    if (old.length === 0 || old.length !== now.length) return [];
    const merged = old.map((one, i) =>
      one['name'] === now[i]?.['name'] ? { ...one, resources: now[i]?.['resources'] } : one,
    );
    return [[key, merged] as const];
  });
  return { ...before, ...Object.fromEntries(lists) };
}

function* templateChange(job: JsonObject, old: JsonObject): Faults {
  const suspended = specOf(old)['suspend'] === true;
  const status = statusOf(old);
  const stopped = objectsAt(status, 'conditions').some(
    (one) => one['type'] === 'Suspended' && one['status'] === 'True',
  );
  const isFree =
    suspended && (status['startTime'] === undefined || stopped) && numberAt(status, 'active', 0) === 0;
  const template = templateOf(job);
  const before = isFree ? withDirectives(templateOf(old), template) : templateOf(old);
  if (!isFree) {
    yield* immutable('spec.template', template, before, shownTemplate(template));
    return;
  }
  const spec = specOf(template);
  const merged = withResources(specOf(before), spec);
  if (!sameJson(spec, merged))
    yield invalid('spec.template.spec', internalPodSpec(spec as unknown as PodSpec), 'field is immutable');
}

const policyForms: Readonly<Record<string, string>> = tableOf({
  podFailurePolicy: 'FailurePolicy',
  successPolicy: 'SuccessPolicy',
});

/** Returns a policy as messages print it. */
function shownPolicy(key: string, value: unknown): unknown {
  const form = ownMember(policyForms, key);
  return form !== undefined && isObject(value) ? internalForm(form, value) : value;
}

/** Validates that a job's identity and policies do not change. */
function* updateFaults(job: JsonObject, old: JsonObject): Faults {
  const [spec, before] = [specOf(job), specOf(old)];
  yield* specFaults(job);
  yield* completions(spec, before);
  yield* immutable('spec.selector', spec['selector'], before['selector'], shownSelector(spec['selector']));
  yield* templateChange(job, old);
  for (const key of [
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ])
    yield* immutable(
      `spec.${key}`,
      ownMember(spec, key),
      ownMember(before, key),
      shownPolicy(key, ownMember(spec, key)),
    );
}

/** Validates a job. Follows Kubernetes `ValidateJob`, `ValidateJobUpdate` (pkg/apis/batch/validation, v1.36). */
function* faults(job: JsonObject, old: JsonObject | undefined): Faults {
  yield* generatedSelector(job, old);
  yield* specFaults(job);
  yield* longestHostname(job);
  if (old) yield* updateFaults(job, old);
}

/** Strategy of jobs: selector and labels are generated; the template does not change, except for scheduling and resources while suspended. */
export const jobStrategy: Strategy = {
  ...strategyOf(builtIn('jobs', 'batch'), {
    defaults,
    prepare: (job, old, context) => withEnabledTemplate(old ? job : withSelector(job), context),
    faults,
    metadataChecks: ['changes', 'whole'],
    warnings: (job, old) => [
      ...(old ? [] : podNameWarnings(job)),
      ...(old && metadataOf(job)['generation'] === metadataOf(old)['generation']
        ? []
        : jobWarnings('spec', specOf(job))),
    ],
    status: { faults: jobStatusFaults },
  }),
  deleteWarning:
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
};
