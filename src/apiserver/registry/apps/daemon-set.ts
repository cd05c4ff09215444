import { type Faults, invalid, required, unsupported } from '../../../kube/validation/field-error.ts';
import { labelSelector } from '../../../kube/validation/shared.ts';
import {
  isObject,
  type JsonObject,
  metadataOf,
  objectAt,
  sameJson,
  specOf,
  withMetadata,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { ownMember } from '../../../base/own.ts';
import {
  templateFaults,
  templateWarnings,
  withEnabledTemplate,
  withTemplateDefaults,
} from '../core/pod-template-rules.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import {
  asSelector,
  isEmptySelector,
  isUsableSelector,
  selectorMatchesTemplate,
  shownSelector,
} from '../validation/selector-rules.ts';
import {
  immutable,
  nonNegatives,
  notMoreThan100Percent,
  positiveIntOrPercent,
  shareOf,
} from '../validation/value-rules.ts';
import { alwaysRunning, collisions, textOr } from './replica-rules.ts';

/** Annotation that holds the number of the template, which counts its changes. */
const templateGeneration = 'deprecated.daemonset.template.generation';

const templateOf = (set: JsonObject): JsonObject => objectAt(specOf(set), 'template');

function defaults(set: JsonObject): JsonObject {
  const spec = specOf(set);
  const update = objectAt(spec, 'updateStrategy');
  const type = textOr(update, 'type', 'RollingUpdate');
  const rolling = { maxUnavailable: 1, maxSurge: 0, ...objectAt(update, 'rollingUpdate') };
  return withTemplateDefaults({
    ...numbered(set, generationOf(set)),
    spec: {
      revisionHistoryLimit: 10,
      ...spec,
      updateStrategy: { ...update, type, ...(type === 'RollingUpdate' && { rollingUpdate: rolling }) },
    },
  });
}

const generationOf = (set: JsonObject): number => {
  const text = ownMember(objectAt(metadataOf(set), 'annotations'), templateGeneration);
  return typeof text === 'string' && /^-?\d+$/.test(text) ? Number(text) : 0;
};

const numbered = (set: JsonObject, generation: number): JsonObject =>
  withMetadata(set, {
    annotations: { ...objectAt(metadataOf(set), 'annotations'), [templateGeneration]: String(generation) },
  });

/** Returns a set without the annotation: the internal version has a field instead. */
function unnumbered(set: JsonObject): JsonObject {
  const { [templateGeneration]: _number, ...annotations } = objectAt(metadataOf(set), 'annotations');
  const isEmpty = Object.keys(annotations).length === 0;
  return withMetadata(set, { annotations: isEmpty ? undefined : annotations });
}

/** Returns the number of an update's template. */
function nextGeneration(set: JsonObject, old: JsonObject): number {
  return generationOf(old) + (sameJson(templateOf(set), templateOf(old)) ? 0 : 1);
}

function* rollingUpdate(field: string, update: JsonObject): Faults {
  const { maxUnavailable, maxSurge } = update;
  yield* positiveIntOrPercent(`${field}.maxUnavailable`, maxUnavailable);
  yield* positiveIntOrPercent(`${field}.maxSurge`, maxSurge);
  yield* notMoreThan100Percent(`${field}.maxUnavailable`, maxUnavailable);
  yield* notMoreThan100Percent(`${field}.maxSurge`, maxSurge);
  const [fewer, more] = [shareOf(maxUnavailable) !== 0, shareOf(maxSurge) !== 0];
  if (fewer && more)
    yield invalid(`${field}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero');
  if (!fewer && !more) yield required(`${field}.maxUnavailable`, 'cannot be 0 when maxSurge is 0');
}

function* strategyFaults(field: string, strategy: JsonObject): Faults {
  const { type, rollingUpdate: update } = strategy;
  if (type === 'RollingUpdate')
    yield* rollingUpdate(`${field}.rollingUpdate`, objectAt(strategy, 'rollingUpdate'));
  else if (type !== 'OnDelete')
    yield unsupported(
      field,
      {
        Type: type,
        RollingUpdate: isObject(update)
          ? { MaxUnavailable: update['maxUnavailable'] ?? 0, MaxSurge: update['maxSurge'] ?? 0 }
          : null,
      },
      ['RollingUpdate', 'OnDelete'],
    );
}

/** Validates a daemon set. Follows Kubernetes `ValidateDaemonSetSpec` (pkg/apis/apps/validation, v1.36). */
function* faults(set: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(set);
  const { selector } = spec;
  const shown = shownSelector(selector);
  if (old) yield* immutable('spec.selector', selector, specOf(old)['selector'], shown);
  const template = templateOf(set);
  yield* labelSelector('spec.selector', asSelector(selector));
  if (isUsableSelector(selector)) yield* selectorMatchesTemplate('spec.template', selector, template);
  if (isEmptySelector(selector))
    yield invalid('spec.selector', shown, 'empty selector is invalid for daemonset');
  yield* templateFaults('spec.template', template);
  yield* alwaysRunning('spec.template', template, 'DaemonSet');
  yield* nonNegatives('spec', spec, 'minReadySeconds');
  yield* strategyFaults('spec.updateStrategy', objectAt(spec, 'updateStrategy'));
  yield* nonNegatives('spec', spec, 'revisionHistoryLimit');
}

/** Strategy of daemon sets: an annotation counts the changes of the template. */
export const daemonSetStrategy: Strategy = {
  ...strategyOf(builtIn('daemonsets', 'apps'), {
    defaults,
    prepare: (set, old, context) => {
      const next = withEnabledTemplate(set, context);
      return numbered(next, old ? nextGeneration(next, old) : Math.max(generationOf(set), 1));
    },
    faults,
    warnings: (set, old) =>
      old && generationOf(set) === generationOf(old)
        ? []
        : templateWarnings('spec.template', templateOf(set)),
    status: {
      prepare: (set, old) => numbered(set, generationOf(old)),
      *faults(set, old) {
        yield* nonNegatives(
          'status',
          objectAt(set, 'status'),
          'currentNumberScheduled',
          'numberMisscheduled',
          'desiredNumberScheduled',
          'numberReady',
          'observedGeneration',
          'updatedNumberScheduled',
          'numberAvailable',
          'numberUnavailable',
          'collisionCount',
        );
        yield* collisions(set, old);
      },
    },
  }),
  internal: unnumbered,
};
