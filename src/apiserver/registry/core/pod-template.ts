import { metadataOf, objectAt } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { enabledTemplate, templateDefaults, templateFaults, templateWarnings } from './pod-template-rules.ts';

/** Strategy of pod templates. */
export const podTemplateStrategy: Strategy = strategyOf(builtIn('podtemplates'), {
  defaults: (one) => ({ ...one, template: templateDefaults(objectAt(one, 'template')) }),
  prepare: (one, _old, context) => ({
    ...one,
    template: enabledTemplate(objectAt(one, 'template'), context),
  }),
  faults: (one) => templateFaults('template', objectAt(one, 'template')),
  warnings: (one, old) =>
    old && metadataOf(one)['generation'] === metadataOf(old)['generation']
      ? []
      : templateWarnings('template', objectAt(one, 'template')),
});
